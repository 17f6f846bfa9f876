import type { Runtime } from '../runtime/runtime.js'
import type { AcknowledgedConnection, RedisPort, ScriptTransport } from './redis-port.js'
import { tell, type Receiver, type RunBy, type ScriptRun } from './script-run.js'

export interface ReplicaAcks {
  /** Replicas that must acknowledge. */
  readonly acks: number
  /** How long to wait for them, ms. */
  readonly timeoutMs: number
}

/** A reply of the primary, with the number of replicas that acknowledged its writes. */
export class Acknowledged {
  constructor(
    readonly reply: unknown,
    readonly replicas: number,
    readonly needed: ReplicaAcks,
  ) {}
}

/**
 * Runs scripts whose reply counts only once replicas have the writes: each is followed by a WAIT. The connection
 * carries nothing else, because Redis answers no command behind a WAIT before that has ended.
 */
export class AcknowledgedTransport implements ScriptTransport {
  private readonly rounds = new WeakMap<Opening, WaitRound>()

  constructor(
    private readonly runtime: Runtime,
    private readonly port: RedisPort,
    private readonly needed: ReplicaAcks,
  ) {}

  get slotOf(): RedisPort['slotOf'] {
    return this.port.slotOf
  }

  run(run: ScriptRun, by: RunBy, receiver: Receiver): void {
    const command = (connection: AcknowledgedConnection) => connection.run(run, by)
    tell(receiver, this.send(run.keys, { command, isWanted: () => receiver.isWanted() }))
  }

  isErrorReply(error: unknown): error is Error {
    return this.port.isErrorReply(error)
  }

  private send([key = '']: readonly string[], request: SendRequest): Promise<Acknowledged> {
    const connection = this.port.acknowledgedAt?.(key)
    if (!connection) {
      return Promise.reject(new Error('The primary of the slot is not known.'))
    }
    const answer = this.sendOn(connection, request)
    return this.port.slotOf ? answer.catch((error: unknown) => this.follow(error, key, request)) : answer
  }

  /** These connections do not belong to the client's cluster object, which would follow MOVED and ASK by itself. */
  private follow(error: unknown, key: string, request: SendRequest): Promise<Acknowledged> {
    const there = elsewhere(error)
    const connection = there && this.port.acknowledgedAt?.(key, there.address)
    if (!connection || !request.isWanted()) {
      throw error
    }
    // Back to back: ASKING applies to the next command on its connection.
    const asking = (to: AcknowledgedConnection): Promise<unknown> => {
      to.asking?.()
      return request.command(to)
    }
    return this.sendOn(connection, there.asks ? { ...request, command: asking } : request)
  }

  private sendOn(connection: Opening, request: SendRequest): Promise<Acknowledged> {
    const round = this.rounds.get(connection) ?? new WaitRound(this.runtime, connection, this.needed)
    this.rounds.set(connection, round)
    return round.add(request)
  }
}

/** A connection, or one that is still being opened: commands follow in their order, and fail with it. */
type Opening = NonNullable<ReturnType<NonNullable<RedisPort['acknowledgedAt']>>>

interface SendRequest {
  readonly command: (connection: AcknowledgedConnection) => Promise<unknown>
  readonly isWanted: () => boolean
}

interface QueuedRequest extends SendRequest {
  readonly resolve: (answer: Acknowledged) => void
  readonly reject: (error: unknown) => void
}

/** One round trip at a time; commands that arrive meanwhile share the WAIT of the next (group commit). */
class WaitRound {
  private queue: QueuedRequest[] = []
  private isRunning = false

  constructor(
    private readonly runtime: Runtime,
    private readonly opening: Opening,
    private readonly needed: ReplicaAcks,
  ) {}

  add(request: SendRequest): Promise<Acknowledged> {
    const answer = new Promise<Acknowledged>((resolve, reject) =>
      this.queue.push({ ...request, resolve, reject }),
    )
    if (!this.isRunning) {
      this.isRunning = true
      // Commands of the same event-loop turn share one round trip.
      this.runtime.nextTick(() => void this.run())
    }
    return answer
  }

  private async run(): Promise<void> {
    const { needed } = this
    while (this.queue.length > 0) {
      let connection: AcknowledgedConnection
      try {
        connection = await this.opening
      } catch (error) {
        this.queue.splice(0).forEach(({ reject }) => reject(error))
        break
      }
      const requests = this.takeWanted()
      if (requests.length === 0) {
        continue
      }
      const answers = Promise.allSettled(requests.map(({ command }) => command(connection)))
      const waited = connection.wait(needed.acks, needed.timeoutMs)
      const [settled, replicas] = await Promise.all([answers, settledAs(waited)])
      requests.forEach(({ resolve, reject }, i) => {
        const answer = settled[i]
        if (answer?.status !== 'fulfilled') {
          reject(answer?.reason)
        } else if (replicas.error !== undefined) {
          // Also where Redis refused the WAIT: the command before it has run, and must not look refused.
          reject(new Error(`WAIT: ${String(replicas.error)}`, { cause: replicas.error }))
        } else {
          resolve(new Acknowledged(answer.value, replicas.count, needed))
        }
      })
    }
    this.isRunning = false
  }

  /** Rejects commands whose deadline has passed while they queued behind slow replicas. */
  private takeWanted(): QueuedRequest[] {
    const waiting = this.queue
    this.queue = []
    for (const { isWanted, reject } of waiting) {
      if (!isWanted()) {
        reject(new Error('Given up before it was sent.'))
      }
    }
    return waiting.filter(({ isWanted }) => isWanted())
  }
}

/** A failed WAIT leaves unknown which replicas have the writes. */
function settledAs(waited: Promise<number>): Promise<{ count: number; error?: Error }> {
  return waited.then(
    (count) =>
      // NaN compares as not fewer than any number, so it would count as enough.
      Number.isInteger(count)
        ? { count }
        : { count: 0, error: new Error('The reply to WAIT is not a number.') },
    (error: unknown) => ({ count: 0, error: new Error(`WAIT failed: ${String(error)}`) }),
  )
}

/**
 * The node a redirection points to, as `host:port`; null: no redirection. `asks`: the slot is still being migrated
 * there, and the node accepts a command for it only behind ASKING.
 */
function elsewhere(error: unknown): { readonly address: string; readonly asks: boolean } | null {
  const [, word, address = ''] =
    (error instanceof Error && /^(MOVED|ASK) \d+ (\S+)$/.exec(error.message)) || []
  return word === undefined ? null : { address, asks: word === 'ASK' }
}
