import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, jest, test } from '@jest/globals'
import * as api from '@holdfast/faults/harness'

const here = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const readme = here('../../src/harness/README.md')
const names = ['lost-reply.ts', 'lost-write.ts', 'adder.mjs', 'processes.ts', 'history.ts', 'clock.ts']
const blocks = [...readme.matchAll(/```(?:ts|js)\n(.*?)```/gs)].map(([, code]) => code)

/** The first column of the table below a heading. */
const firstColumn = (heading: string): (string | undefined)[] => {
  const [, text = ''] = readme.split(`\n## ${heading}\n`)
  const [own = ''] = text.split('\n## ')
  return [...own.matchAll(/^\| `(\w[\w-]*)/gm)].map(([, name]) => name)
}

/** The output of an example on the console. */
const said = async (name: string): Promise<unknown[]> => {
  const log = jest.spyOn(console, 'log').mockImplementation(() => undefined)
  await import(`../readme/${name}.js`)
  return log.mock.calls.flat() as unknown[]
}

afterEach(() => {
  jest.restoreAllMocks()
})

describe('the README', () => {
  test('has the examples that the compiler and this test know', () => {
    expect(blocks).toEqual(names.map((name) => here(`../readme/${name}`)))
    expect(readdirSync(new URL('../readme', import.meta.url)).sort()).toEqual([...names].sort())
  })

  test('has every fault of the proxy, and every check of a history', () => {
    const members = Object.getOwnPropertyDescriptors(api.FaultProxy.prototype)
    const faults = Object.entries(members)
      .filter(([name, member]) => 'value' in member && !['constructor', 'stop'].includes(name))
      .map(([name]) => name)
    expect(firstColumn('Faults of the wire').sort()).toEqual(faults.sort())
    const [, union = ''] =
      /export type CheckName =([^]*?)\n\n/.exec(here('../../src/harness/history/findings.ts')) ?? []
    const checks = [...union.matchAll(/'([\w-]+)'/g)].map(([, name]) => name)
    expect(firstColumn('Histories').sort()).toEqual(checks.sort())
  })

  test('has every launcher, and names everything else that can be used', () => {
    const launchers = Object.keys(api).filter((name) => /^Redis(?!ReplyError)/.test(name))
    expect(firstColumn('Servers').sort()).toEqual(launchers.sort())
    expect(Object.keys(api).filter((name) => !new RegExp(`\`${name}\\b`).test(readme))).toEqual([])
  })
})

describe('the examples of the README', () => {
  test('a lost reply makes ioredis count twice', async () => {
    expect(await said('lost-reply')).toEqual(['counted one visit, Redis has 2'])
  })

  test('a fail-over loses what was written after replication was cut', async () => {
    expect(await said('lost-write')).toEqual([['yes', null]])
  })

  test('a worker answers, stands still, goes on and is killed', async () => {
    expect(await said('processes')).toEqual([5, [2, 3], 23, { code: null, signal: 'SIGKILL' }])
  })

  test('two owners are found, and printed as the README says', async () => {
    const [, printed] = /```\n(I1 [^]*?)\n```/.exec(readme) ?? []
    expect(await said('history')).toEqual([printed])
  })

  test('a clock fires when it is moved', async () => {
    expect(await said('clock')).toEqual([1, 'a second is over'])
  })
})
