import { execFileSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import type { SeenLock } from '@holdfast/core/observe'
import { InvalidArgumentError } from 'commander'
import { parseDuration, spoken } from '../../src/duration.js'
import { matcherOf } from '../../src/locks/finder.js'
import { SpreadSearch } from '../../src/live/spread-search.js'
import { LockChanges } from '../../src/live/changes.js'
import { quoted } from '../../src/locks/shown-lock.js'
import { Output, printable } from '../../src/terminal.js'

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['10', 10_000],
  ])('%s', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it.each(['', 's', '-1s', '1 s', '1w', '25d', 'Infinity', '1e3'])('%j is none', (text) => {
    expect(() => parseDuration(text)).toThrow(InvalidArgumentError)
  })

  it.each([
    [0.4, '0 ms'],
    [999.4, '999 ms'],
    [12_340, '12.3 s'],
    [59_949, '59.9 s'],
    [59_951, '1 min 0 s'],
    [303_000, '5 min 3 s'],
    [7_440_000, '2 h 4 min'],
    [259_200_000, '3 days'],
  ])('%d ms in words', (ms, words) => expect(spoken(ms)).toBe(words))
})

describe('patterns of names, as of SCAN', () => {
  it.each([
    ['order:*', 'order:42', true],
    ['order:*', 'xorder:42', false],
    ['a?c', 'a\u{1F512}c', true],
    ['a[bc]d', 'acd', true],
    ['a[^bc]d', 'acd', false],
    ['a[^bc]d', 'aed', true],
    ['[z-a]', 'm', true],
    ['[z-a]', '-', false],
    ['[a-]', '-', true],
    ['[]', 'a', false],
    ['[\u{1F512}-\u{1F513}]', '\u{1F512}', true],
    [String.raw`[\d]`, 'd', true],
    [String.raw`[\d]`, '1', false],
    [String.raw`a\*`, 'a*', true],
    [String.raw`a\*`, 'ab', false],
    ['a.c', 'abc', false],
    ['{tenant}:(1)', '{tenant}:(1)', true],
    ['*', 'any\nthing', true],
  ])('%j against %j: %p', (pattern, name, fits) => expect(matcherOf(pattern)(name)).toBe(fits))
})

describe('what is printed of a name', () => {
  it('moves no cursor, turns no direction and ends no line', () => {
    expect(printable('a\u001B[2Jb\u202Ec\nd\u2028e')).toBe(String.raw`a\u{1b}[2Jb\u{202e}c\u{a}d\u{2028}e`)
    expect(printable('Größe – \u{1F512} 鍵')).toBe('Größe – \u{1F512} 鍵')
  })
})

describe('what a terminal is told', () => {
  const outputs = (json: boolean) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const output = new Output({ stdin, stdout, stderr, env: {} }, json)
    return { output, said: () => String(stderr.read() ?? '') + String(stdout.read() ?? '') }
  }

  it('is one line that moves nothing, as a note and as JSON', () => {
    const evil = 'a\u001B[2J\u009B1m\u202Eb\nc'
    const plain = outputs(false)
    plain.output.note(evil, {})
    expect(plain.said()).toBe(String.raw`holdfast: a\u{1b}[2J\u{9b}1m\u{202e}b\u{a}c` + '\n')
    const json = outputs(true)
    json.output.note('', { evil })
    json.output.value({ evil }, 0)
    const lines = json.said().trimEnd().split('\n')
    // eslint-disable-next-line no-control-regex
    for (const line of lines) expect(line).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u202E]/)
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([{ evil }, { evil }])
  })

  it.each(["it's", '; touch owned', '$(id)', '`id`', '"', String.raw`\'`, "''"])(
    'a holder is quoted for a shell: %s',
    (holder) => {
      const said = execFileSync('sh', ['-c', `printf %s ${quoted(holder)}`], { encoding: 'utf8' })
      expect(said).toBe(holder)
    },
  )
})

describe('the search of top', () => {
  it('asks for so many keys and locks a second, however long the look before was ago', async () => {
    let now = 0
    const asked = { keys: 0, locks: 0, passes: 0 }
    const names = Array.from({ length: 5_000 }, (_, i) => `lock:${i}`)
    let cursor = 0
    const observer = {
      scan: (count: number) => {
        asked.keys += count
        const found = names.slice(cursor, cursor + count)
        cursor += count
        const endsPass = cursor >= names.length
        if (endsPass) {
          cursor = 0
          asked.passes += 1
        }
        return Promise.resolve({ names: found, endsPass })
      },
      look: (wanted: readonly string[]) => {
        asked.locks += wanted.length
        return Promise.resolve(new Map(wanted.map((each) => [each, { name: each } as SeenLock])))
      },
    }
    const search = new SpreadSearch(
      observer,
      () => true,
      () => now,
    )
    await search.goOn([])
    expect(asked).toEqual({ keys: 1_000, locks: 1_000, passes: 0 })
    expect([search.isComplete, search.keysSearched]).toEqual([false, 1_000])
    for (now = 100; now <= 2_000; now += 100) await search.goOn([])
    expect(asked).toEqual({ keys: 3_000, locks: 3_000, passes: 0 })
    now = 3_600_000
    await search.goOn(['lock:7'])
    expect(asked).toEqual({ keys: 4_000, locks: 4_000, passes: 0 })
    now += 1_000
    await search.goOn([])
    expect([search.isComplete, asked]).toEqual([true, { keys: 5_000, locks: 5_000, passes: 1 }])
    // All is known, and the next search begins a second after the last.
    now += 500
    await search.goOn([])
    expect([asked.keys, search.found.length]).toEqual([5_000, 5_000])
  })
})

describe('changes of a lock', () => {
  const holder = (owner: string) => ({ owner, holds: 1, leaseLeftMs: 1_000, heldForAtLeastMs: 0 })
  const seen = (
    owners: readonly string[],
    { waiters = [] as string[], mode = undefined as 'read' | undefined } = {},
  ) => ({
    ...{ name: 'a', kind: undefined, mode, leaseLeftMs: 1_000, token: undefined },
    holders: owners.map(holder),
    waiting: waiters.length,
    waiters: waiters.map((owner) => ({ owner, waitedMs: 1 })),
    overtaken: 0,
  })
  const told = (changes: LockChanges, ...looks: Parameters<LockChanges['take']>[]) =>
    looks.flatMap((look) => changes.take(...look)).map(({ event }) => event)

  it('one holder after another, and nobody', () => {
    const changes = new LockChanges()
    expect(told(changes, [undefined, 0], [seen(['x:1']), 10], [seen(['x:1']), 20])).toEqual(['held'])
    expect(changes.take(seen(['y:1']), 30)).toMatchObject([
      { event: 'handed-over', from: { holder: 'x:1' }, holder: { holder: 'y:1' }, heldMs: 20 },
    ])
    expect(changes.take(undefined, 100)).toMatchObject([
      { event: 'freed', from: { holder: 'y:1' }, heldMs: 70 },
    ])
  })

  it('readers come and go', () => {
    const changes = new LockChanges()
    const read = { mode: 'read' } as const
    expect(
      told(changes, [seen(['x:1'], read), 0], [seen(['x:1', 'y:1'], read), 1], [seen(['y:1'], read), 2]),
    ).toEqual(['held', 'joined', 'left'])
  })

  it('a caller that waited and has the lock now does not leave the line, who gave up does', () => {
    const changes = new LockChanges()
    expect(told(changes, [seen(['x:1'], { waiters: ['y:1', 'z:1'] }), 0])).toEqual(['held', 'waits', 'waits'])
    expect(told(changes, [seen(['y:1']), 1])).toEqual(['handed-over', 'waits-no-more'])
  })
})
