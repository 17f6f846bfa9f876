import { describe, expect, it } from '@jest/globals'
import { pages, read } from '../redis/support/markdown.js'

const script = (path: string): string => new URL(`../../../../scripts/${path}`, import.meta.url).href
const { withTables, PAGES } = (await import(script('support/tables.mjs'))) as {
  withTables: (page: string, text: string, record: object) => string
  PAGES: readonly string[]
}
const { cellOf } = (await import(script('support/record.mjs'))) as {
  cellOf: (
    outcome: { passed: number; failed: number; failures: string[]; again?: string[] },
    extent: string,
  ) => object
}
const { parseArguments } = (await import(script('servers/arguments.mjs'))) as {
  parseArguments: (args: string[]) => { servers: { family: string; release: string }[] }
}
const { parseArguments: runtimes } = (await import(script('runtimes/arguments.mjs'))) as {
  parseArguments: (args: string[]) => { runtimes: { name: string }[] }
}

const row = (what: string, cells: object): object => ({ what, date: '2026-11-23', commit: 'abc1234', cells })
const record = {
  servers: {
    'redis-6.2': row('Redis 6.2.14', { single: { state: 'missing', said: 'the wheel is gone' } }),
    'valkey-9': row('Valkey 9.1.2', {
      single: cellOf({ passed: 1234, failed: 0, failures: [] }, 'contract'),
      cluster: cellOf({ passed: 9, failed: 1, failures: ['locks lock\n    Error: no'] }, 'contract'),
    }),
  },
}

describe('a table of what runs on what', () => {
  it('has a row for each server, the newest first, and a reason for each cell that did not pass', () => {
    const page = 'before\n<!-- support: servers -->\nold\n<!-- /support -->\nafter\n'
    expect(withTables('page', page, record)).toBe(
      [
        'before',
        '<!-- support: servers -->',
        '',
        '| server | one server | cluster of three primaries | run |',
        '| --- | --- | --- | --- |',
        '| Valkey 9.1.2 | passed: contract, 1,234 tests | **failed** | 2026-11-23, `abc1234` |',
        '| Redis 6.2.14 | not run | – | 2026-11-23, `abc1234` |',
        '',
        '- Valkey 9.1.2, cluster of three primaries: **failed**. contract, 1 of 10 failed: locks lock',
        '- Redis 6.2.14, one server: not run. the wheel is gone',
        '',
        '<!-- /support -->',
        'after',
        '',
      ].join('\n'),
    )
  })

  it('in short has one word in each cell', () => {
    const page = '<!-- support: servers in short -->\n<!-- /support -->'
    const lines = withTables('page', page, record).split('\n')
    expect(lines).toContain('| Valkey 9.1.2 | passed | **failed** | 2026-11-23 |')
    expect(lines).toContain('| Redis 6.2.14 | not run | – | 2026-11-23 |')
  })

  it.each([
    ['<!-- support: servers -->\nno end', "has no '<!-- /support -->' behind it"],
    ['<!-- support: browsers -->\n<!-- /support -->', 'names none of servers'],
  ])('refuses marks that it cannot fill: %j', (page, complaint) => {
    expect(() => withTables('page', page, record)).toThrow(complaint)
  })

  it('stands as it was written: nobody has edited it by hand', () => {
    const written = JSON.parse(read('docs/support.json')) as object
    for (const page of PAGES) expect(withTables(page, read(page), written)).toBe(read(page))
    expect(pages.filter((page) => /<!-- support: /.test(read(page))).sort()).toEqual([...PAGES].sort())
  })

  it('names the suites that passed in a second run only', () => {
    expect(cellOf({ passed: 7, failed: 0, failures: [], again: ['reentry'] }, 'contract')).toEqual({
      state: 'passed',
      said: 'contract, 7 tests; reentry in a second run, alone',
    })
  })

  it('says that a run without a test has failed', () => {
    expect(cellOf({ passed: 0, failed: 0, failures: [] }, 'smoke')).toMatchObject({ state: 'failed' })
  })
})

describe('the runtimes that a run is asked for', () => {
  it('are all, or those that are named', () => {
    const chosen = (...args: string[]): string[] => runtimes(args).runtimes.map(({ name }) => name)
    expect(chosen()).toEqual(['node-26', 'node-24', 'node-22', 'node-20', 'bun', 'deno'])
    expect(chosen('--only', 'deno', '--only', 'node-20')).toEqual(['node-20', 'deno'])
  })

  it.each([
    [
      ['--only', 'node-18'],
      "--only takes one of node-26, node-24, node-22, node-20, bun, deno, not 'node-18'",
    ],
    [['--smoke', '--write-docs'], '--write-docs publishes the unit tests, too: it does not go with --smoke'],
  ])('%j is refused', (args, complaint) => {
    expect(() => runtimes(args)).toThrow(complaint)
  })
})

describe('the servers that a run is asked for', () => {
  const chosen = (...args: string[]): string[] =>
    parseArguments(args).servers.map(({ family, release }) => `${family} ${release}`)

  it('are all, those that are named, or the newest of each family', () => {
    expect(chosen()).toHaveLength(6)
    expect(chosen('--only', 'redis-7.0', '--only', 'valkey-8')).toEqual(['valkey 8', 'redis 7.0'])
    expect(chosen('--newest')).toEqual(['valkey 9', 'redis 8.2'])
  })

  it.each([
    [
      ['--only', 'redis-5'],
      "--only takes one of valkey-9, valkey-8, redis-8.2, redis-7.4, redis-7.0, redis-6.2, not 'redis-5'",
    ],
    [['--only', 'redis-7.0', '--newest'], '--newest and --only choose servers: give one of them'],
    [['--smoke', '--write-docs'], '--write-docs publishes the contract suites: it does not go with --smoke'],
  ])('%j is refused', (args, complaint) => {
    expect(() => parseArguments(args)).toThrow(complaint)
  })
})
