import { describe, expect, it } from '@jest/globals'
import { ManualClock, seededRandom } from '@holdfast/faults/harness'
import { type Attempt, Waiter, type WaitOutcome } from '../../src/index.js'

const callers = 200
const queues = ['a', 'b']

/** A mutex behind a slow network that hangs, stays silent, and loses messages while it reconnects. */
class RemoteMutex {
  owner: number | undefined = undefined
  taken = 0
  readonly subscribed = new Map<string, (payload: string) => void>()
  private listener: () => void = () => undefined
  private connection = 1

  constructor(
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {}

  after(maxMs: number): Promise<void> {
    return new Promise((resolve) => void this.clock.setTimer(Math.floor(this.random() * maxMs), resolve))
  }

  async attempt(): Promise<Attempt<number>> {
    await this.after(10)
    if (this.random() < 0.03) {
      await this.after(400)
      return { kind: 'unavailable', error: new Error('silence') }
    }
    const free = this.owner === undefined
    if (free) this.owner = this.taken += 1
    const token = this.taken
    await this.after(this.random() < 0.2 ? 900 : 10)
    return free ? { kind: 'done', value: token } : { kind: 'refused' }
  }

  release(token: number): void {
    expect(this.owner).toBe(token)
    this.owner = undefined
    const [onMessage, { connection }] = [this.subscribed.get('free'), this]
    void this.after(10).then(() => {
      if (connection === this.connection) onMessage?.('')
    })
  }

  async reconnect(): Promise<void> {
    this.connection += 1
    const lost = [...this.subscribed]
    this.subscribed.clear()
    await this.after(30)
    for (const [topic, onMessage] of lost) this.subscribed.set(topic, onMessage)
    this.listener()
  }

  async subscribe(topic: string, onMessage: (payload: string) => void): Promise<void> {
    await this.after(20)
    if (this.random() < 0.05) throw new Error('subscribe failed')
    this.subscribed.set(topic, onMessage)
    await this.after(20)
  }

  async unsubscribe(topic: string): Promise<void> {
    await this.after(20)
    this.subscribed.delete(topic)
  }

  onResubscribed(listener: () => void): () => void {
    this.listener = listener
    return () => (this.listener = () => undefined)
  }
}

/** One run. `resyncIntervalMs` far beyond the run: then only wake-ups, and no tick, can end a wait. */
class Run {
  readonly clock = new ManualClock(0)
  readonly mutex: RemoteMutex
  readonly waiter: Waiter
  readonly ended = new Map<string, number>()
  readonly served: Record<string, number[]> = { a: [], b: [] }
  readonly tokens: number[] = []
  undone = 0
  private inside = 0

  constructor(private readonly random: () => number) {
    this.mutex = new RemoteMutex(this.clock, random)
    const options = { clock: this.clock, random, resyncIntervalMs: 2 ** 31 - 1 }
    this.waiter = new Waiter(this.mutex, options)
  }

  async caller(): Promise<void> {
    await this.mutex.after(4_000)
    const queue = queues[Math.floor(this.random() * queues.length)]!
    const fate = Math.floor(this.random() * 6)
    const controller = new AbortController()
    const id = (this.arrivals += 1)
    const place = this.waiter.enter<number>({
      queue,
      topic: 'free',
      attempt: () => this.mutex.attempt(),
      signal: controller.signal,
      undo: (token) => {
        this.undone += 1
        this.use(token)
        this.mutex.release(token)
      },
      ...(fate === 0 ? { timeoutMs: 0 } : fate === 1 ? { timeoutMs: 1 + this.random() * 2_000 } : {}),
    })
    if (fate === 2) void this.mutex.after(2_000).then(() => controller.abort(new Error('abort')))
    if (fate === 3) void this.mutex.after(2_000).then(() => place.leave())
    const outcome = await place.outcome.catch(() => ({ kind: 'aborted' as const }))
    this.count(outcome.kind)
    if (outcome.kind === 'done') await this.hold(outcome, fate === 0 ? [] : this.served[queue]!, id)
  }

  private arrivals = 0

  private count(kind: string): void {
    this.ended.set(kind, (this.ended.get(kind) ?? 0) + 1)
  }

  private use(token: number): void {
    expect(this.tokens).not.toContain(token)
    this.tokens.push(token)
  }

  private async hold(outcome: WaitOutcome<number> & { kind: 'done' }, served: number[], id: number) {
    expect((this.inside += 1)).toBe(1)
    this.use(outcome.value)
    served.push(id)
    await this.mutex.after(25)
    this.inside -= 1
    this.mutex.release(outcome.value)
  }
}

async function play(seed: number): Promise<Run> {
  const random = seededRandom(seed).next
  const run = new Run(random)
  const all = Promise.all(Array.from({ length: callers }, () => run.caller()))
  for (let second = 0; second < 60; second += 1) {
    if (second < 5) void run.mutex.after(1_000).then(() => run.mutex.reconnect())
    await run.clock.advance(1_000)
  }
  expect(run.waiter.size).toBe(0)
  await all
  return run
}

describe('200 callers that enter, abort, time out, leave and hang at random', () => {
  it.each([1, 2, 3, 4, 6, 9, 11])(
    'never own together, all end without a tick, in order, and return what came too late (seed %i)',
    async (seed) => {
      const run = await play(seed)
      expect([...run.ended.values()].reduce((sum, count) => sum + count, 0)).toBe(callers)
      expect([...run.ended.keys()]).toEqual(expect.arrayContaining(['done', 'timeout', 'aborted', 'left']))
      for (const ids of Object.values(run.served)) expect(ids).toEqual([...ids].sort((a, b) => a - b))
      expect(run.undone).toBeGreaterThan(0)
      expect(run.tokens).toHaveLength(run.mutex.taken)
      expect(run.mutex.owner).toBeUndefined()

      expect(run.mutex.subscribed.size).toBe(0)
      expect(run.clock.pendingTimers).toBe(0)
    },
  )
})
