import { describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { luaSources } from '../../src/scripts/lua-sources.js'

interface Bug {
  readonly file: string
  readonly find: string
  readonly replace: string
}

const script = (path: string): string =>
  fileURLToPath(new URL(`../../../../scripts/${path}`, import.meta.url))
const run = promisify(execFile)
const { plant } = (await import(script('planted/planting.mjs'))) as {
  plant: (bug: Bug, text: string) => string
}

describe('a planted bug', () => {
  it('can be planted, each of them, in what the torture and the tests load', async () => {
    const { stdout } = await run(process.execPath, [script('planted-bugs.mjs'), '--check'])
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
  ])('that would be planted %s is an error', (_where, text, times) => {
    expect(() => plant(bug, text)).toThrow(
      `core/src/hold.ts has ${times} times, not once, "a = 1 b()": mend the planted bug`,
    )
  })

  it('of a script goes into every copy of it, and into nothing that looks like it', () => {
    const lua = luaSources['lock/release']
    const release = {
      file: 'core/src/scripts/lock/release.lua',
      find: "redis.call('hset', KEYS[1], ARGV[1], holds)",
      replace: 'nothing()',
    }
    const planted = plant(release, `${lua}\nredis.call('hset', KEYS[1], ARGV[1], holds)\nend\n${lua}`)
    expect(planted.match(/nothing\(\)/g)).toHaveLength(2)
    expect(planted.match(/redis\.call\('hset', KEYS\[1\], ARGV\[1\], holds\)/g)).toHaveLength(1)
    expect(() => plant(release, "redis.call('hset', KEYS[1], ARGV[1], holds)")).toThrow(
      'no copy of core/src/scripts/lock/release.lua',
    )
  })
})
