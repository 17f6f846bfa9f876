import { describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { luaSources } from '../../src/redis/lua-sources.js'

interface Bug {
  readonly file: string
  readonly find: string
  readonly replace: string
}

const script = (path: string): string =>
  fileURLToPath(new URL(`../../../faults/planted/${path}`, import.meta.url))
const run = promisify(execFile)
const { plant } = (await import(script('planting.mjs'))) as {
  plant: (bug: Bug, text: string) => string
}

describe('a planted bug', () => {
  it('can be planted, each of them, in what the torture and the tests load', async () => {
    const { stdout } = await run(process.execPath, [script('run.mjs'), '--check'])
    expect(stdout).toMatch(/^All \d+ bugs can be planted\n$/)
  })

  const bug = { file: 'core/src/hold.ts', find: 'a = 1 b()', replace: '$& broken' }

  it('is found whatever the compiler did to indentation and ends of statements', () => {
    expect(plant(bug, 'if (x) {\n    a = 1;\n    b();\n}')).toBe('if (x) {\n    $& broken;\n}')
    expect(plant(bug, 'a = 1\nb()')).toBe('$& broken')
  })

  it.each([
    ['nowhere', 'a = 2\nb()', 0],
    ['twice', 'a = 1\nb()\na = 1\nb()', 2],
  ])('a planted bug that would be planted %s is an error', (_where, text, times) => {
    expect(() => plant(bug, text)).toThrow(
      `core/src/hold.ts has ${times} times, not once, "a = 1 b()": mend the planted bug`,
    )
  })

  it('a planted bug of a script goes into that script with its parts, and into nothing that looks like it', () => {
    const folder = fileURLToPath(new URL('../../src/scripts/', import.meta.url))
    const module = readFileSync(`${folder}../redis/lua-sources.ts`, 'utf8')
    const release = {
      file: 'core/src/scripts/lock/release.lua',
      find: "redis.call('hset', KEYS[1], ARGV[1], holds)",
      replace: 'nothing()',
    }
    const planted = plant(release, module)
    const changed = (text: string): number => text.split("redis.call('hset', KEYS[1], ARGV[1], holds)").length
    expect(changed(planted)).toBe(changed(module) - 1)
    expect(planted.match(/nothing\(\)/g)).toHaveLength(1)
    const [, ...lua] = luaSources['lock/release'].split('\n')
    expect(planted).toContain(lua.join('\n').replace(release.find, release.replace))
    expect(() => plant(release, "redis.call('hset', KEYS[1], ARGV[1], holds)")).toThrow(
      'no core/src/scripts/lock/release.lua: build first',
    )
  })
})
