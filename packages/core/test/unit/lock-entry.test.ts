import { describe, expect, it } from '@jest/globals'
import { RedisUnavailableError, WrongTypeError } from '../../src/errors.js'
import { unexpected, UnexpectedReply } from '../../src/redis/failures.js'
import { section } from '../redis/support/markdown.js'
import { EntryUnderTest, type Reply } from './support/entry-under-test.js'

const ACQUIRED: Reply = { kind: 'acquired' }
const HELD: Reply = { kind: 'held', ttlMs: 1_000, holder: 'other', holds: 1 }
const HELD_IN_LINE: Reply = { ...HELD, waits: true }
const LOST: Reply = { kind: 'lost' }
const RELEASED: Reply = { kind: 'released' }
const STILL_HELD: Reply = { kind: 'still-held' }
const NOT_HELD: Reply = { kind: 'not-held' }
const RENAMED: Reply = { kind: 'renamed' }
const SILENCE = new RedisUnavailableError('silence', { outcome: 'unknown', transient: true })
const NOT_SENT = new RedisUnavailableError('not sent', { outcome: 'not-sent', transient: false })
const REFUSED = new RedisUnavailableError('refused', { outcome: 'refused', transient: false })
const WRONG_TYPE = new WrongTypeError('name', 'name', new Error('WRONGTYPE'))
const QUEUED = unexpected(new UnexpectedReply('QUEUED'), { lockName: 'name' })

type Run = (entry: EntryUnderTest) => unknown
/** In the diagram, a step has these words. */
type Step = Run & { readonly words: string }

const REPLIES = new Map<Reply, string>([
  [ACQUIRED, 'granted'],
  [HELD, 'refused'],
  [HELD_IN_LINE, 'refused, enqueued'],
  [LOST, 'gone'],
  [RELEASED, 'done'],
  [STILL_HELD, 'done'],
  [RENAMED, 'renamed'],
  [SILENCE, 'no answer'],
  [NOT_SENT, 'not sent'],
  [REFUSED, 'an error'],
  [WRONG_TYPE, 'another type'],
  [QUEUED, 'QUEUED'],
])
const step = (words: string, run: Run): Step => Object.assign(run, { words })
const answered = (what: string, reply: Reply, run: Run): Step => step(`${what} (${REPLIES.get(reply)})`, run)

/** A first try, and what it is answered. */
const tried = (reply: Reply): Step =>
  answered('try', reply, (entry) => entry.answering(entry.tryFirst(), [reply]))
const reentered = (reply: Reply): Step =>
  answered('re-entry', reply, (entry) => entry.answering(entry.reenter(2), [reply]))
/** Down to so many levels; tried once more where nobody answers. */
const released = (holds: number, reply: Reply): Step =>
  answered(holds === 0 ? 'release' : 'release of one level', reply, (entry) =>
    entry.answering(entry.release(holds), [reply]),
  )
const passedOn = (to: string, reply: Reply): Step =>
  answered('pass', reply, (entry) => entry.answering(entry.passOn(to), [reply]))
/** The connection breaks before the answer, and the client library sends the try again. */
const triedTwice = (reply: Reply): Step =>
  answered('try sent twice', reply, (entry) => {
    entry.tryFirst().catch(() => undefined)
    entry.reconnect()
    return entry.answer(reply)
  })
const given = step('grant', (entry) => entry.given())
const ticketTaken = step('ticket taken', (entry) => entry.takeTicket())
const transactionIsOver = step('EXEC or DISCARD', (entry) => entry.transactionIsOver())

// These have no answer yet.
const trying = step('try sent', (entry) => void entry.tryFirst())
const releasing = step('release sent', (entry) => void entry.release(0))
const passingOn = step('pass, rename sent', (entry) => void entry.passOn('B'))

interface Row {
  readonly steps: readonly Step[]
  /** Its own account. */
  readonly is: string
  /** The command of a re-entry that is granted. */
  readonly reenter: string
  /** The command of a release down to one level. */
  readonly lower: string
  /** The command of a release of all levels. */
  readonly release: string
  /** The outcome of that release if Redis finds nothing to release. */
  readonly ifNotHeld: 'released' | 'not-held'
}

const NOTHING = ''
const WAITS_FOR_EXEC = 'fails'
const NO_TURN = 'waits'

/** The rest of a row. */
type Following = Omit<Row, 'steps'>

const tombstone = (through: number): string => (through > 0 ? ` tombstone ${through}` : '')

// The kinds of states. `n`: the number of the next command; `through`: up to which copies are refused.
/** It has nothing in Redis, for certain. */
const untouched = (n: number): Following => ({
  is: 'nothing, untouched',
  reenter: `acquire A 2 #${n}`,
  lower: `release A 1 #${n}`,
  release: NOTHING,
  ifNotHeld: 'released',
})
/** It has one level. Where copies of a command may come, it is not at rest. */
const once = (n: number, through = 0, name = 'A'): Following => ({
  is: through === 0 ? 'at rest' : '',
  reenter: `acquire ${name} 2 #${n}${tombstone(through)}`,
  lower: NOTHING,
  release: `release ${name} 0 #${n}${tombstone(through)}`,
  ifNotHeld: 'not-held',
})
/** It may have more than one level: a release down to one is a command. */
const several = (n: number, through = 0): Following => ({
  ...once(n, through),
  is: '',
  lower: `release A 1 #${n}${tombstone(through)}`,
})
const inQueue = (n: number): Following => ({ ...several(n), is: 'in the queue, only in the queue' })
const notItsTurn: Following = {
  is: '',
  reenter: NO_TURN,
  lower: NO_TURN,
  release: NO_TURN,
  ifNotHeld: 'not-held',
}
/** Its name in Redis is in doubt: it is renamed first. */
const renamedFirst = (rename: string, name: string): Following => ({
  ...once(2, 0, name),
  is: '',
  reenter: `${rename} > acquire ${name} 2 #2`,
  release: `${rename} > release ${name} 0 #2`,
})
/** Only the EXEC tells what it has. */
const givenUp: Following = {
  is: 'given up',
  reenter: WAITS_FOR_EXEC,
  lower: WAITS_FOR_EXEC,
  release: WAITS_FOR_EXEC,
  ifNotHeld: 'released',
}

// Each way to get somewhere, and what follows.
const TABLE: Record<string, Row> = {
  'nothing was sent': { steps: [], ...untouched(1) },
  'a try was refused': { steps: [tried(HELD)], ...untouched(2) },
  'a refused try put it in the queue': { steps: [tried(HELD_IN_LINE)], ...inQueue(2) },
  'in the queue, and refused again by a try that does not stand there': {
    steps: [tried(HELD_IN_LINE), tried(HELD)],
    ...inQueue(3),
  },
  'in the queue, and a try has no answer': {
    steps: [tried(HELD_IN_LINE), tried(SILENCE)],
    ...several(3, 2),
    is: 'in the queue',
  },
  'granted while it waited': { steps: [tried(HELD_IN_LINE), given], ...once(2) },
  'a try is on its way': { steps: [trying], ...notItsTurn },
  'a try has no answer': { steps: [tried(SILENCE)], ...several(2, 1) },
  'a try was not sent': { steps: [tried(NOT_SENT)], ...untouched(2) },
  'a try was refused by Redis': { steps: [tried(REFUSED)], ...untouched(2) },
  'a try met something else': { steps: [tried(WRONG_TYPE)], ...untouched(2) },
  'a try was sent twice, and one copy refused by Redis': { steps: [triedTwice(REFUSED)], ...several(2, 1) },
  'a try was sent twice, and one copy met something else': {
    steps: [triedTwice(WRONG_TYPE)],
    ...several(2, 1),
  },
  'a try was sent twice, and one copy refused': { steps: [triedTwice(HELD)], ...several(2, 1) },
  'a try was sent twice, and granted': { steps: [triedTwice(ACQUIRED)], ...once(2, 1) },
  'a try has no answer, the next is granted': { steps: [tried(SILENCE), tried(ACQUIRED)], ...once(3, 1) },
  'a try has no answer, the next is refused': { steps: [tried(SILENCE), tried(HELD)], ...several(3, 1) },
  'held once': { steps: [tried(ACQUIRED)], ...once(2) },
  'held once, the turn is taken': { steps: [tried(ACQUIRED), ticketTaken], ...notItsTurn },
  'held twice': { steps: [tried(ACQUIRED), reentered(ACQUIRED)], ...several(3) },
  'held once again': { steps: [tried(ACQUIRED), reentered(ACQUIRED), released(1, STILL_HELD)], ...once(4) },
  'a re-entry has no answer': { steps: [tried(ACQUIRED), reentered(SILENCE)], ...several(3, 2) },
  'a re-entry has no answer and was undone': {
    steps: [tried(ACQUIRED), reentered(SILENCE), released(1, STILL_HELD)],
    ...once(4, 2),
  },
  'a re-entry found nothing': { steps: [tried(ACQUIRED), reentered(LOST)], ...untouched(3) },
  'a re-entry met something else': { steps: [tried(ACQUIRED), reentered(WRONG_TYPE)], ...untouched(3) },
  'a release is on its way': { steps: [tried(ACQUIRED), releasing], ...notItsTurn },
  'a release has no answer, twice': {
    steps: [tried(ACQUIRED), released(0, SILENCE)],
    ...several(4, 3),
    ifNotHeld: 'released',
  },
  'a release of one level has no answer, twice': {
    steps: [tried(ACQUIRED), reentered(ACQUIRED), released(1, SILENCE)],
    ...several(5, 4),
  },
  'a release was refused by Redis': { steps: [tried(ACQUIRED), released(0, REFUSED)], ...once(3) },
  'a release met something else': { steps: [tried(ACQUIRED), released(0, WRONG_TYPE)], ...untouched(3) },
  released: { steps: [tried(ACQUIRED), released(0, RELEASED)], ...untouched(3) },
  'passed on, the rename is on its way': {
    steps: [tried(ACQUIRED), passingOn],
    // It may be passed on again meanwhile: a rename changes no count.
    ...notItsTurn,
    is: 'at rest',
  },
  'passed on': { steps: [tried(ACQUIRED), passedOn('B', RENAMED)], ...once(2, 0, 'B') },
  'passed on, the name is in doubt': {
    steps: [tried(ACQUIRED), passedOn('B', SILENCE)],
    ...renamedFirst('rename A to B, out of the queue B', 'B'),
  },
  'passed on twice, the name is in doubt between three': {
    steps: [tried(ACQUIRED), passedOn('B', SILENCE), passedOn('C', SILENCE)],
    ...renamedFirst('rename A,B to C, out of the queue B,C', 'C'),
  },
  'passed on, something else is there': {
    steps: [tried(ACQUIRED), passedOn('B', WRONG_TYPE)],
    ...once(2, 0, 'B'),
    release: 'release B 0 #2, out of the queue B',
  },
  'passed on after a try without an answer': {
    steps: [tried(SILENCE), tried(ACQUIRED), passedOn('B', RENAMED)],
    ...once(3, 1, 'B'),
  },
  'a try waits in a transaction': { steps: [tried(QUEUED)], ...several(2, 1), reenter: WAITS_FOR_EXEC },
  'a re-entry waits in a transaction': {
    steps: [tried(ACQUIRED), reentered(QUEUED)],
    ...several(3, 2),
    reenter: WAITS_FOR_EXEC,
  },
  'a re-entry and what undoes it wait in a transaction': {
    steps: [tried(ACQUIRED), reentered(QUEUED), released(1, QUEUED)],
    ...givenUp,
    release: 'release A 0 #4 tombstone 3',
    ifNotHeld: 'not-held',
  },
  'a release waits in a transaction': {
    steps: [tried(ACQUIRED), released(0, QUEUED)],
    ...several(3, 2),
    reenter: WAITS_FOR_EXEC,
    ifNotHeld: 'released',
  },
  'a release waits in a transaction twice': {
    steps: [tried(ACQUIRED), released(0, QUEUED), released(0, QUEUED)],
    ...givenUp,
  },
  'the transaction is over in which a release waited': {
    steps: [tried(ACQUIRED), released(0, QUEUED), released(0, QUEUED), transactionIsOver],
    ...several(4, 3),
    ifNotHeld: 'released',
  },
}

async function after(steps: readonly Run[], leaseMs?: number): Promise<EntryUnderTest> {
  const entry = new EntryUnderTest(leaseMs)
  for (const step of steps) {
    await step(entry)
    await entry.clock.settle()
  }
  return entry
}

/** The command that an operation sends in a state, and its caller's answer. */
async function next(
  steps: readonly Run[],
  operation: (entry: EntryUnderTest) => Promise<string>,
  reply: Reply,
) {
  const entry = await after(steps)
  // Commands on their way by then stay there.
  entry.redis.pending.splice(0)
  const known = entry.redis.sent.length
  const told = await entry.answering(operation(entry), [reply])
  const sent = entry.redis.sent.slice(known).join(' > ')
  if (told === 'pending') {
    expect(sent).toBe('')
    return { sent: NO_TURN, told }
  }
  return { sent: told.startsWith('Redis answered "QUEUED"') ? WAITS_FOR_EXEC : sent, told }
}

describe('what an owner has in Redis (I2)', () => {
  describe.each(Object.entries(TABLE))('%s', (_, { steps, is, reenter, lower, release, ifNotHeld }) => {
    it(`is ${is || 'none of what would be certain'}`, async () => {
      expect((await after(steps)).facts).toBe(is)
    })

    it(`a re-entry: ${reenter}`, async () => {
      expect((await next(steps, (entry) => entry.reenter(2), ACQUIRED)).sent).toBe(reenter)
    })

    it(`a release down to one level: ${lower || 'sends nothing'}`, async () => {
      expect((await next(steps, (entry) => entry.release(1), STILL_HELD)).sent).toBe(lower)
    })

    it(`a release: ${release || 'sends nothing'}`, async () => {
      const { sent, told } = await next(steps, (entry) => entry.release(0), RELEASED)
      expect(sent).toBe(release)
      if (sent !== NO_TURN && sent !== WAITS_FOR_EXEC) {
        expect(told).toBe('released')
        expect((await next(steps, (entry) => entry.release(0), NOT_HELD)).told).toBe(ifNotHeld)
      }
    })
  })
})

const wordsOf = (steps: readonly Step[]): string => steps.map(({ words }) => words).join(', ')

/** The state that a diagram of the table shows: rows with equal consequences are one. */
function stateOf({ is, reenter, release }: Row): string {
  if (is.startsWith('nothing')) {
    return 'nothing'
  }
  if (is.startsWith('in the queue')) {
    return is === 'in the queue' ? 'in the queue, a copy may be late' : 'in the queue'
  }
  if (release === NO_TURN) {
    return 'command under way'
  }
  if (reenter === WAITS_FOR_EXEC) {
    return is === 'given up' ? 'given up until EXEC' : 'waits for EXEC'
  }
  if (release.startsWith('rename')) {
    return 'name in doubt'
  }
  if (release.includes('tombstone')) {
    return 'a copy may be late'
  }
  return is === 'at rest' ? 'held once' : 'held twice'
}

/** The steps of the table, as a diagram in Mermaid's language. */
function diagram(): string {
  const all = Object.values(TABLE)
  const arrows = new Map<string, Set<string>>()
  for (const row of all) {
    const last = row.steps.at(-1)
    const before = all.find(({ steps }) => wordsOf(steps) === wordsOf(row.steps.slice(0, -1)))
    if (last && before) {
      const arrow = `${idOf(stateOf(before))} --> ${idOf(stateOf(row))}`
      arrows.set(arrow, (arrows.get(arrow) ?? new Set()).add(last.words))
    }
  }
  const names = [...new Set(all.map(stateOf))].map((name) => `${idOf(name)}: ${name}`)
  const steps = [...arrows].map(([arrow, words]) => `${arrow} : ${[...words].join(' / ')}`)
  return ['stateDiagram-v2', ...names, `[*] --> ${idOf('nothing')}`, ...steps].join('\n  ')
}

const idOf = (name: string): string => name.replaceAll(/\W+/g, '_')

it('docs/architecture.md draws the states of an entry, and each step between them', () => {
  const [, drawn] =
    /```mermaid\n([^]*?)\n```/.exec(section('docs/architecture.md', 'States of an entry')) ?? []
  expect(drawn).toBe(diagram())
})

describe('the commands of an owner', () => {
  it('go one at a time, in the order in which they were asked for', async () => {
    const entry = await after([tried(ACQUIRED)])
    const told: string[] = []
    const note = (kind: string): void => void told.push(kind)
    void entry.reenter(2).then(note)
    void entry.release(1).then(note)
    void entry.release(0).then(note)
    await entry.clock.settle()
    const sent = ['try A 1 #1', 'acquire A 2 #2']
    expect(entry.redis.sent).toEqual(sent)
    await entry.answer(ACQUIRED)
    expect(entry.redis.sent).toEqual([...sent, 'release A 1 #3'])
    await entry.answer(STILL_HELD)
    await entry.answer(RELEASED)
    expect(entry.redis.sent).toEqual([...sent, 'release A 1 #3', 'release A 0 #4'])
    expect(told).toEqual(['acquired', 'still-held', 'released'])
  })

  it('are trusted from when they were sent', async () => {
    const entry = new EntryUnderTest()
    const sentAt = entry.clock.now()
    const trying = entry.tryFirst()
    await entry.clock.advance(700)
    await entry.answer(ACQUIRED)
    await trying
    expect(entry.grantedAt).toBe(sentAt)
  })

  it('count as at rest while a name follows, until another is asked for behind it', async () => {
    const entry = await after([tried(ACQUIRED)])
    const free = entry.takeTicket({ changesNoCount: true })
    expect(entry.facts).toBe('at rest')
    const release = entry.release(0)
    expect(entry.facts).toBe('')
    free()
    expect(await entry.answering(release, [RELEASED])).toBe('released')
  })
})

describe('a lease that was shortened', () => {
  const SHORTENED: Reply = 'shortened'
  const held = async (): Promise<EntryUnderTest> => {
    const entry = new EntryUnderTest()
    await tried(ACQUIRED)(entry)
    entry.redis.sent.length = 0
    return entry
  }

  it('leaves the count as it was, once that is known', async () => {
    const entry = await held()
    expect(await entry.answering(entry.shorten(5_000), [SHORTENED])).toBe('shortened')
    expect([entry.facts, entry.redis.sent]).toEqual(['at rest', ['shorten A 1 #2 to 5000']])
    expect(await entry.answering(entry.extend(9_000), ['renewed'])).toBe('extended')
    expect(entry.redis.sent.slice(1)).toEqual(['extend A 9000'])
  })

  it.each<[string, Run]>([
    ['had no answer', (entry) => entry.answering(entry.shorten(5_000), [SILENCE])],
    [
      'was sent again by the client library',
      async (entry) => {
        void entry.shorten(5_000)
        await entry.clock.settle()
        entry.reconnect()
        await entry.answer(SHORTENED)
      },
    ],
  ])('is longer again only once a late copy of what shortened it is refused: it %s', async (_, step) => {
    const entry = await held()
    await step(entry)
    expect(await entry.answering(entry.extend(9_000), [SILENCE])).toBe('silence')
    expect(await entry.answering(entry.extend(9_000), [SHORTENED, 'renewed'])).toBe('extended')
    expect(await entry.answering(entry.extend(9_000), ['renewed'])).toBe('extended')
    expect(entry.redis.sent).toEqual([
      'shorten A 1 #2 to 5000',
      'shorten A 1 #3 tombstone 2 to null',
      'shorten A 1 #4 tombstone 3 to null',
      ...['extend A 9000', 'extend A 9000'],
    ])
  })

  it('is longer again by a re-entry, which refuses late copies itself', async () => {
    const entry = await held()
    await entry.answering(entry.shorten(5_000), [SILENCE])
    await reentered(ACQUIRED)(entry)
    expect(await entry.answering(entry.extend(9_000), ['renewed'])).toBe('extended')
    expect(entry.redis.sent.slice(1)).toEqual(['acquire A 2 #3 tombstone 2', 'extend A 9000'])
  })
})

describe('a release without an answer', () => {
  it('is sent again, each copy with a number of its own, until it is known', async () => {
    const entry = await after([tried(ACQUIRED)])
    expect(await entry.answering(entry.release(0, 20_000), [SILENCE, SILENCE, RELEASED])).toBe('released')
    expect(entry.redis.sent).toEqual([
      'try A 1 #1',
      'release A 0 #2',
      'release A 0 #3 tombstone 2',
      'release A 0 #4 tombstone 3',
    ])
  })

  it('is one that was done when the next copy finds nothing, and perhaps granted to another', async () => {
    const entry = await after([tried(ACQUIRED)])
    expect(await entry.answering(entry.release(0, 20_000), [SILENCE, NOT_HELD])).toBe('released')
    expect(entry.redis.told).toEqual(['went to another for undefined'])
  })

  it('is not tried again after its limit', async () => {
    const entry = await after([tried(ACQUIRED)])
    expect(await entry.answering(entry.release(0, 1_500), [SILENCE])).toBe('silence')
    expect(entry.clock.now()).toBeLessThan(10_000)
  })

  it('is not tried for longer than any lease can last, if it is the last', async () => {
    const entry = await after([tried(ACQUIRED)])
    expect(await entry.answering(entry.release(0, Infinity), [SILENCE], 100)).toBe('silence')
    expect(entry.redis.sent.length).toBeLessThan(60)
  })

  it('is tried for as long as a waiter can be granted the lock, however short its lease (I2)', async () => {
    const entry = await after([tried(HELD_IN_LINE)], 300)
    const release = entry.release(0, Infinity)
    expect(await entry.answering(release, [SILENCE], 50)).toBe('pending')
    expect(await entry.answering(release, [SILENCE], 50)).toBe('silence')
  })

  it('is tried for as long as every call, without a limit, if it is the last: the clock of Redis may be set back', async () => {
    const entry = await after([tried(ACQUIRED)], 300)
    const release = entry.release(0, Infinity)
    expect(await entry.answering(release, [SILENCE], 8)).toBe('pending')
    expect(await entry.answering(release, [SILENCE], 8)).toBe('silence')
  })

  it('is tried for as long as it takes, if it is not the last', async () => {
    const entry = await after([tried(ACQUIRED), reentered(ACQUIRED)])
    expect(await entry.answering(entry.release(1, Infinity), [SILENCE], 100)).toBe('pending')
    expect(entry.redis.sent.length).toBeGreaterThan(60)
  })

  it('takes the count that is wanted by then', async () => {
    const entry = await after([tried(ACQUIRED), reentered(ACQUIRED)])
    const levels = { levelCount: 1 }
    const release = entry.release(levels, 20_000)
    await entry.answer(SILENCE)
    levels.levelCount = 0
    expect(await entry.answering(release, [SILENCE, RELEASED])).toBe('released')
    expect(entry.redis.sent.slice(2)).toEqual([
      'release A 1 #3',
      'release A 1 #4 tombstone 3',
      'release A 0 #5 tombstone 4',
    ])
  })

  it('is sent once more a second after one that waits in a transaction', async () => {
    const entry = await after([tried(ACQUIRED), released(0, QUEUED)])
    const release = entry.release(0)
    await entry.clock.advance(999)
    expect(entry.redis.sent).toHaveLength(2)
    await entry.clock.advance(1)
    expect(entry.redis.sent).toHaveLength(3)
    expect(await entry.answering(release, [RELEASED])).toBe('released')
  })
})

describe('what a closing client waits for', () => {
  it('is the release of a last level, until it is known', async () => {
    const entry = await after([tried(ACQUIRED)])
    const release = entry.release(0, 20_000)
    await entry.clock.settle()
    expect(entry.background.size).toBe(1)
    await entry.answer(SILENCE)
    expect(entry.background.size).toBe(1)
    expect(await entry.answering(release, [SILENCE, RELEASED])).toBe('released')
    await entry.background.whenOver()
    expect(entry.background.size).toBe(0)
  })

  it('is not the release of any other level', async () => {
    const entry = await after([tried(ACQUIRED), reentered(ACQUIRED)])
    const release = entry.release(1, 20_000)
    await entry.clock.settle()
    expect(entry.background.size).toBe(0)
    expect(await entry.answering(release, [STILL_HELD])).toBe('still-held')
  })
})

describe('what a release did', () => {
  it.each<[string, Reply, string[]]>([
    [
      'granted the lock to another client',
      { kind: 'released', grantedForMs: 80 },
      ['went to another for 80'],
    ],
    ['was announced to nobody', { kind: 'released', heardBy: 0 }, ['unheard']],
    ['was heard', { kind: 'released', heardBy: 2 }, []],
  ])('%s: its protocol hears of it', async (_, reply, told) => {
    const entry = await after([tried(ACQUIRED)])
    expect(await entry.answering(entry.release(0), [reply])).toBe('released')
    expect(entry.redis.told).toEqual(told)
  })
})

describe('a field whose lock is passed on', () => {
  it('may have each of its names until the rename is known, and is found under any', async () => {
    const entry = await after([tried(ACQUIRED), passingOn])
    expect(entry.name).toBe('A')
    expect(entry.findIn({ B: 1, other: 2 })).toBe(1)
    expect(entry.findIn({ A: 1, other: 2 })).toBe(1)
    expect(entry.findIn({ other: 2 })).toBe(undefined)
    await entry.answer(RENAMED)
    expect(entry.name).toBe('B')
    expect(entry.isNamed('A') && entry.isNamed('B')).toBe(true)
    expect(entry.isNamed('C')).toBe(false)
  })

  it('leaves in the queue whoever was passed on to while the rename was on its way', async () => {
    const entry = await after([tried(ACQUIRED), passingOn])
    entry.passesTo('C')
    await entry.answer(RENAMED)
    expect(await entry.answering(entry.passOn('D'), [RENAMED])).toBe('renamed')
    expect(entry.redis.sent.slice(1)).toEqual([
      'rename A to B, out of the queue B',
      'rename A,B to D, out of the queue C,D',
    ])
  })

  it('is released under the name that the rename was to give it, once that is known', async () => {
    const entry = await after([tried(ACQUIRED), passedOn('B', SILENCE)])
    // The first answer is that of the rename; the release is not sent before it.
    expect(await entry.answering(entry.release(0), [SILENCE])).toBe('silence')
    expect(entry.redis.sent.filter((each) => each.startsWith('release'))).toEqual([])
    expect(await entry.answering(entry.release(0), [RENAMED, RELEASED])).toBe('released')
    expect(entry.redis.sent.at(-1)).toBe('release B 0 #2')
  })
})
