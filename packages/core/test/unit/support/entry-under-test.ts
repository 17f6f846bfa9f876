import { ManualClock } from '@holdfast/faults/harness'
import {
  ALONE,
  type AcquireTerms,
  type EntryCommands,
  type HoldChange,
} from '../../../src/entry/entry-commands.js'
import { LockEntry, type EntryServices, type Holder } from '../../../src/entry/lock-entry.js'
import { Background } from '../../../src/runtime/background.js'
import { identity, type ReplyHandler } from '../../../src/runtime/reply-handler.js'
import { runtimeWith, systemRuntime } from '../../../src/runtime/runtime.js'
import type { ReleaseReply, RenameReply, Renaming } from '../../../src/scripts/lock.js'
import type { AcquireReply } from '../../../src/scripts/acquire-reply.js'
import type { ShortenReply } from '../../../src/scripts/shorten.js'

export type Reply = AcquireReply | ReleaseReply | RenameReply | 'renewed' | ShortenReply | Error

const LEASE_MS = 30_000

/** Redis as an entry sees it: it notes each command in words, and answers when the test says so. */
class FakeRedis implements EntryCommands {
  readonly sent: string[] = []
  readonly told: string[] = []
  readonly pending: ((reply: Reply) => void)[] = []

  acquire<T>(
    change: HoldChange,
    { waits }: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Promise<T> {
    return this.send(`${waits ? 'try' : 'acquire'} ${wordsOf(change)}`, handler)
  }

  release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { passedTo } = change
    const line = passedTo.length > 0 ? `, out of the queue ${passedTo.join()}` : ''
    return this.send(`release ${wordsOf(change)}${line}`, handler)
  }

  readonly passing = {
    rename: ({ to, from, passedTo }: Renaming): Promise<RenameReply> => {
      const line = passedTo.length > 0 ? `, out of the queue ${passedTo.join()}` : ''
      return this.send<RenameReply, RenameReply>(`rename ${from.join()} to ${to.owner}${line}`, identity)
    },
  }

  extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'> {
    return this.send<'renewed' | 'lost', 'renewed' | 'lost'>(`extend ${owner} ${leaseMs}`, identity)
  }

  shorten(change: HoldChange, leaseMs: number | null): Promise<ShortenReply> {
    return this.send<ShortenReply, ShortenReply>(`shorten ${wordsOf(change)} to ${leaseMs}`, identity)
  }

  onGrantedElsewhere(forMs: number | undefined): void {
    this.told.push(`went to another for ${forMs}`)
  }

  onUnheardRelease(): void {
    this.told.push('unheard')
  }

  private send<R, T>(words: string, handler: ReplyHandler<R, T>): Promise<T> {
    this.sent.push(words)
    return new Promise<R>((resolve, reject) => {
      this.pending.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply as R)))
    }).then(
      (reply) => handler.onReply(reply),
      (error: unknown) => handler.onError(error),
    )
  }
}

/** The part of a holder that an entry asks while its commands go and come. */
function holderNamed(owner: string): Holder {
  const holder = { owner, levelCount: 1, lease: { confirm: () => undefined } }
  return holder as unknown as Holder
}

function wordsOf({ owner, holds, stamp }: HoldChange): string {
  const { sequence, tombstoneThrough } = stamp
  return `${owner} ${holds} #${sequence}${tombstoneThrough > 0 ? ` tombstone ${tombstoneThrough}` : ''}`
}

/** The entry of one owner, as tests drive it: what it sends, what its callers hear, what it says of itself. */
export class EntryUnderTest {
  readonly redis = new FakeRedis()
  readonly clock = new ManualClock()
  readonly background = new Background()
  private readonly port = { connectionEpoch: 0 }
  private readonly entry: LockEntry

  /** @param leaseMs the usual one */
  constructor(private readonly leaseMs = LEASE_MS) {
    const services = {
      options: { lockWatchdogTimeout: leaseMs, heartbeatMs: 10_000, unavailableTimeoutMs: 10_000 },
      runtime: runtimeWith(runtimeWith(systemRuntime, this.clock), { random: () => 0.5 }),
      ...{ port: this.port, background: this.background },
      ...{ closing: new AbortController().signal, abandoned: new AbortController().signal },
    } as unknown as EntryServices
    this.entry = new LockEntry(services, this.redis, holderNamed('A'))
  }

  /** The facts about the entry. */
  get facts(): string {
    const { entry } = this
    const facts = {
      nothing: entry.hasNothingInRedis,
      untouched: entry.isUntouched,
      'at rest': entry.isAtRest,
      'in the queue': entry.isWaiting,
      'only in the queue': entry.isOnlyInLine,
      'given up': entry.state.isGivenUp,
    }
    return Object.entries(facts)
      .flatMap(([words, isTrue]) => (isTrue ? [words] : []))
      .join(', ')
  }

  get name(): string {
    return this.entry.field.name
  }

  get grantedAt(): number {
    return this.entry.state.grant.sentAt
  }

  /** A first try of a caller that waits. */
  async tryFirst(): Promise<string> {
    const wish = { rule: ALONE, leaseMs: this.leaseMs, waits: true }
    const handler = identity as ReplyHandler<AcquireReply, AcquireReply>
    const reply = await this.entry.acquireFirst(wish, handler)
    return reply.kind
  }

  /** One level more, in turn. */
  async reenter(holds: number): Promise<string> {
    const wish = { rule: ALONE, leaseMs: this.leaseMs, waits: false }
    const reply = await this.entry.serial.runExclusive(() => this.entry.acquire(holds, wish))
    return reply.kind
  }

  /** In turn. */
  async shorten(leaseMs: number): Promise<string> {
    await this.entry.serial.runExclusive(() => this.entry.shorten(leaseMs))
    return 'shortened'
  }

  /** In turn. */
  async extend(leaseMs: number): Promise<string> {
    await this.entry.serial.runExclusive(() => this.entry.extend(leaseMs))
    return 'extended'
  }

  /** Down to so many levels, in turn, tried for `limitMs`. */
  async release(holds: number | { readonly levelCount: number }, limitMs = 0): Promise<string> {
    const levels = typeof holds === 'number' ? { levelCount: holds } : holds
    const reply = await this.entry.serial.runExclusive(() => this.entry.releaseUntilKnown(levels, limitMs))
    return reply.kind
  }

  /** Passed on in this process: its name in Redis follows. */
  async passOn(to: string): Promise<string> {
    this.passesTo(to)
    let kind = ''
    await this.entry.besideHolds(async () => {
      kind = await this.entry.field.follow({ owner: to, note: undefined })
    })
    return kind
  }

  /** Passed on to one that is in Redis's queue. */
  passesTo(to: string): void {
    this.entry.passTo(holderNamed(to), true)
  }

  isNamed(owner: string): boolean {
    return this.entry.field.isNamed(owner)
  }

  findIn(holds: Record<string, number>): number | undefined {
    return this.entry.field.find(new Map(Object.entries(holds)))
  }

  /** Redis granted it the lock while it waited. */
  given(): void {
    this.entry.state.granted({ ttlMs: this.leaseMs, wantedMs: this.leaseMs })
  }

  /** Its turn, until the returned function is called. */
  takeTicket({ changesNoCount = false } = {}): () => void {
    let free = (): void => undefined
    const over = new Promise<void>((resolve) => (free = resolve))
    void (changesNoCount ? this.entry.besideHolds(() => over) : this.entry.serial.runExclusive(() => over))
    return free
  }

  /** The connection breaks and is there again: the client library sends again what had no answer. */
  reconnect(): void {
    this.port.connectionEpoch += 1
  }

  transactionIsOver(): void {
    this.entry.state.transactionIsOver()
  }

  /** Answers the oldest command that has no answer. */
  async answer(reply: Reply): Promise<void> {
    await this.clock.settle()
    this.redis.pending.shift()?.(reply)
    await this.clock.settle()
  }

  /**
   * Answers whatever the operation sends, each with the next reply, the last one again and again.
   * @returns what its caller is told; 'pending': nothing in so many seconds
   */
  async answering(operation: Promise<string>, replies: readonly Reply[], seconds = 20): Promise<string> {
    const told: string[] = []
    const note = (kind: string): void => void told.push(kind)
    operation.then(note, (error: unknown) => note(error instanceof Error ? error.message : String(error)))
    let left = replies
    for (let second = 0; second < seconds; second += 1) {
      await this.clock.advance(1_000)
      const [kind] = told
      if (kind !== undefined) {
        return kind
      }
      const [reply, ...others] = left
      if (this.redis.pending.length > 0 && reply) {
        left = others.length > 0 ? others : left
        await this.answer(reply)
      }
    }
    return told[0] ?? 'pending'
  }
}
