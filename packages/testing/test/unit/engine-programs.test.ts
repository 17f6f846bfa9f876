import { describe, expect, it } from '@jest/globals'
import { allLuaSources } from '../../../core/test/redis/support/all-lua-sources.js'
import { seededRandom } from '../../../faults/src/harness/seeded-random.js'
import { Engine } from '../../src/engine/engine.js'

// `npm run test:engine` runs them on real servers; here is what it is made of.
const script = (name: string): string => new URL(`../../fuzz/${name}`, import.meta.url).href

interface Run {
  readonly keys: readonly unknown[]
  readonly args: readonly unknown[]
}
interface Step {
  readonly kind: 'command'
  readonly on: 0 | 1
  readonly words: readonly string[]
}
interface Transcript {
  readonly replies: readonly unknown[]
  readonly times: readonly number[]
  readonly endedAt: number
  readonly messages: unknown
  readonly keys: ReadonlyMap<unknown, unknown>
}
type Difference = (
  steps: readonly Step[],
  one: Transcript,
  other: Transcript,
  release: object,
) => {
  readonly where: string
} | null

const { difference } = (await import(script('compare.mjs'))) as { difference: Difference }
const { COMMANDS, RUN_SCRIPTS, SUBSCRIPTIONS } = (await import(script('commands.mjs'))) as {
  COMMANDS: object
  RUN_SCRIPTS: readonly string[]
  SUBSCRIPTIONS: object
}
const { programOf } = (await import(script('program.mjs'))) as {
  programOf: (seed: number, number: number) => readonly object[]
}
const { releaseOf } = (await import(script('releases.mjs'))) as { releaseOf: (server: string) => object }
const { runOf, TRANSITIONS } = (await import(script('transitions.mjs'))) as {
  runOf: (name: string, words: object) => Run
  TRANSITIONS: object
}
const { wordsFrom } = (await import(script('words.mjs'))) as { wordsFrom: (random: object) => object }

describe('programs', () => {
  it('have each command that the engine knows', () => {
    const { commands } = new Engine({ clock: { now: () => 0 }, runId: '' }) as unknown as {
      readonly commands: ReadonlyMap<string, unknown>
    }
    const made = [...Object.keys(COMMANDS), ...Object.keys(SUBSCRIPTIONS), ...RUN_SCRIPTS]
    expect(made.sort()).toEqual([...commands.keys()].sort())
  })

  it('have each script of Holdfast, with as many KEYS and ARGV as its header names', () => {
    expect([...Object.keys(TRANSITIONS), 'batch'].sort()).toEqual(Object.keys(allLuaSources).sort())
    const words = wordsFrom(seededRandom(1))
    for (const name of Object.keys(TRANSITIONS)) {
      const runs = Array.from({ length: 40 }, () => runOf(name, words))
      const most = (of: 'keys' | 'args'): number => Math.max(...runs.map((run) => run[of].length))
      const used = (table: string): number[] =>
        [
          ...allLuaSources[name as keyof typeof allLuaSources].matchAll(
            new RegExp(`${table}\\[(\\d+)\\]`, 'g'),
          ),
        ].map(([, place]) => Number(place))
      expect([name, most('keys')]).toEqual([name, Math.max(most('keys'), ...used('KEYS'))])
      expect([name, most('args')]).toEqual([name, Math.max(most('args'), ...used('ARGV'))])
    }
  })

  it('are the same for the same seed, and others for another', () => {
    expect(programOf(1, 7)).toEqual(programOf(1, 7))
    expect(programOf(1, 7)).not.toEqual(programOf(2, 7))
    expect(programOf(1, 7)).not.toEqual(programOf(1, 8))
  })
})

describe('a comparison', () => {
  const step = { kind: 'command', on: 0, words: ['get', 'a'] } as const
  const seen = (reply: unknown, keys: readonly unknown[] = [], messages: unknown = [[], []]): Transcript => ({
    ...{ replies: [reply], times: [0], endedAt: 0, messages, keys: new Map(keys as [unknown, unknown][]) },
  })
  const differs = (one: unknown, other: unknown, server = 'redis-7.0'): boolean =>
    difference([step], seen(one), seen(other), releaseOf(server)) !== null

  it.each([
    ['a text', 'a text'],
    [9_999n, 10_003n],
    ['until 1732365600123', 'until 1732365600127'],
    [`${'a'.repeat(40)}:1732365600123`, `${'b'.repeat(40)}:1732365600124`],
    ['1732365600123000', '1732365600127900'],
    ['{"a":1,"b":"1732365600123"}', '{"b":"1732365600124","a":1}'],
    [{ error: 'ERR no' }, { error: 'ERR no' }],
    [
      [1n, null],
      [1n, null],
    ],
  ])('holds for %j and %j', (one, other) => {
    expect(differs(one, other)).toBe(false)
  })

  it.each([
    ['a text', 'another'],
    ['1', 1n],
    ['OK', { status: 'OK' }],
    [1n, 2n],
    [99n, 98n],
    [10_000n, 10_006n],
    ['until 1732365600123', 'until 1732365600129'],
    ['a'.repeat(40), 'b'.repeat(40)],
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"a":1,"b":2}'],
    [{ error: 'ERR no' }, { error: 'ERR never' }],
    [{ error: 'ERR no' }, 'ERR no'],
    [[1n], [1n, 2n]],
    [null, ''],
  ])('does not hold for %j and %j', (one, other) => {
    expect(differs(one, other)).toBe(true)
  })

  it('takes other words for an error, and other digits for a number, of later releases only', () => {
    for (const [one, other] of [
      [{ error: 'ERR no' }, { error: 'ERR never' }],
      ['9.2233720368547758e+18', '9223372036854775807'],
    ]) {
      expect([differs(one, other, 'redis-7.0'), differs(one, other, 'valkey-9')]).toEqual([true, false])
    }
    expect(differs({ error: 'ERR no' }, { error: 'OOM no' }, 'valkey-9')).toBe(true)
  })

  it('sees keys that are missing, end otherwise, or have another content, and messages', () => {
    const keys = [['a', ['hash', ['f', '1', 'g', '2'], 1_732_365_600_123]]]
    const against = (other: readonly unknown[]): string | undefined =>
      difference([step], seen(null, keys), seen(null, other), releaseOf('redis-7.0'))?.where
    expect(against([['a', ['hash', ['g', '2', 'f', '1'], 1_732_365_600_125]]])).toBeUndefined()
    for (const other of [
      [],
      [['a', ['hash', ['f', '1', 'g', '2'], -1]]],
      [['a', ['hash', ['f', '1', 'g', '3'], 1_732_365_600_123]]],
      [...keys, ['b', ['string', '1', -1]]],
    ]) {
      expect(against(other)).toMatch(/^key [ab] in the end$/)
    }
    const heard = seen(null, [], [[['ch', 'x']], []])
    expect(difference([step], seen(null), heard, releaseOf('redis-7.0'))?.where).toBe('messages to everybody')
  })
})
