import { describe, expect, it } from '@jest/globals'
import { ManualClock, seededRandom } from '@holdfast/faults/harness'
import { type Attempt, Waiter } from '../../src/index.js'
import { FakeWakeSource } from '../fake-wake-source.js'
import { type Caller, done, rig, useRig } from '../rig.js'

const tooLittle = (left: number, retryAfterMs?: number): Attempt<never> =>
  retryAfterMs === undefined ? { kind: 'refused', left } : { kind: 'refused', left, retryAfterMs }
const taken = (left: number): Attempt<string> => ({ kind: 'done', value: 'v', left })

describe('callers that want different amounts', () => {
  useRig()

  /** A head that wants 5 and sleeps, with so many left. */
  const bigHead = async (left: number): Promise<Caller> => {
    const head = rig.enter({ wants: 5 }, tooLittle(left), tooLittle(left))
    await rig.clock.settle()
    expect(head.attempts).toBe(2)
    return head
  }

  it('pass a head that wants more than is left, in the order in which they came', async () => {
    const head = await bigHead(0)
    const [six, two, one] = [6, 2, 1].map((wants) => rig.enter({ wants })) as [Caller, Caller, Caller]
    rig.source.publish('t')
    await head.answered(tooLittle(3))
    expect([six, two, one].map(({ attempts }) => attempts)).toEqual([0, 1, 0])
    await two.answered(taken(1))
    expect(two.result).toMatchObject({ kind: 'done' })
    expect([head, six, one].map(({ attempts }) => attempts)).toEqual([3, 0, 1])
    await one.answered(taken(0))
    expect([head, six].map(({ attempts }) => attempts)).toEqual([3, 0])
    head.place.leave()
    six.place.leave()
  })

  it('try at once where what is left is enough for them, and are not said to wait', async () => {
    const head = await bigHead(3)
    const four = rig.enter({ wants: 4 })
    const three = rig.enter({ wants: 3 })
    expect([four.attempts, four.parked, three.attempts, three.parked]).toEqual([0, 1, 1, 0])
    await three.answered(taken(0))
    expect(three.result).toMatchObject({ kind: 'done' })
    expect(three.parked).toBe(0)
    head.place.leave()
    four.place.leave()
  })

  it('are said to wait when somebody else was quicker', async () => {
    const head = await bigHead(1)
    const one = rig.enter({ wants: 1 })
    await one.answered(tooLittle(0))
    expect([one.attempts, one.parked]).toEqual([1, 1])
    head.place.leave()
    one.place.leave()
  })

  it('let the head try again when a message came while one of them tried (I4)', async () => {
    const head = await bigHead(1)
    const one = rig.enter({ wants: 1 })
    rig.source.publish('t')
    await one.answered(taken(0))
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })

  it('let the next one try when one of them leaves before its answer (I4)', async () => {
    const head = await bigHead(1)
    const first = rig.enter({ wants: 1 })
    const second = rig.enter({ wants: 1 })
    expect([first.attempts, second.attempts]).toEqual([1, 0])
    first.place.leave()
    await rig.clock.settle()
    expect(head.attempts).toBe(3)
    await head.answered(tooLittle(1))
    expect(second.attempts).toBe(1)
    await second.answered(taken(0))
    head.place.leave()
  })

  it('are not tried for past their deadline', async () => {
    const head = await bigHead(0)
    const late = rig.enter({ wants: 1, timeoutMs: 100 })
    const next = rig.enter({ wants: 1 })
    rig.source.publish('t')
    rig.clock.pass(100)
    await head.answered(tooLittle(1))
    expect(late.result).toEqual({ kind: 'timeout' })
    expect([late.attempts, next.attempts]).toEqual([0, 1])
    await next.answered(taken(0))
    head.place.leave()
  })

  it('keep the hint for the head', async () => {
    const head = await bigHead(1)
    const one = rig.enter({ wants: 1 })
    one.answer({ kind: 'done', value: 'v', left: 0, retryAfterMs: 40 })
    await rig.clock.advance(40)
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })
})

const PERMITS = 5

/** One run of callers of two lines on the same permits, behind a network. No tick comes in time. */
async function play(seed: number): Promise<{ breaches: string[]; served: number; asleep: number }> {
  const random = seededRandom(seed).whole
  const clock = new ManualClock(0)
  const sources = [new FakeWakeSource(), new FakeWakeSource()]
  const after = (maxMs: number): Promise<void> =>
    new Promise((resolve) => void clock.setTimer(random(maxMs), resolve))
  const options = { clock, random: () => 0.5, resyncIntervalMs: 2 ** 31 - 1 }
  const waiters = sources.map((source) => new Waiter(source, options))
  const breaches: string[] = []
  const waiting = new Set<number>()
  let [free, served] = [PERMITS, 0]
  const release = (wants: number): void => {
    free += wants
    for (const source of sources) void after(10).then(() => source.publish('t'))
  }
  const attempt = async (wants: number): Promise<Attempt<number>> => {
    await after(10)
    const fit = free >= wants
    if (fit) free -= wants
    const left = free
    await after(10)
    return fit ? { kind: 'done', value: wants, left } : { kind: 'refused', left }
  }
  const call = async (): Promise<void> => {
    await after(3_000)
    const wants = 1 + random(PERMITS)
    const place = waiters[random(2)]!.enter<number>({
      queue: 'q',
      topic: 't',
      wants,
      attempt: () => attempt(wants),
      undo: release,
    })
    waiting.add(wants)
    if (random(4) === 0) void after(300).then(() => place.leave())
    const outcome = await place.outcome
    waiting.delete(wants)
    if (outcome.kind !== 'done') return
    if (free < 0) breaches.push(`more taken than there are at ${clock.now()}`)
    served += 1
    await after(40)
    release(wants)
  }
  const all = Promise.all(Array.from({ length: 150 }, call))
  for (let second = 0; second < 30; second += 1) await clock.advance(1_000)
  const asleep = waiters[0]!.size + waiters[1]!.size
  await Promise.all(waiters.map((waiter) => waiter.close(new Error('over'))))
  await all.catch(() => undefined)
  return { breaches, served, asleep }
}

describe('150 callers that want one to five of five, of two lines, and leave at random', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('are all served without a tick (seed %i)', async (seed) => {
    const { breaches, served, asleep } = await play(seed)
    expect({ breaches, asleep }).toEqual({ breaches: [], asleep: 0 })
    expect(served).toBeGreaterThan(80)
  })
})
