import type { LockError } from '../errors.js'
import type { InFlight } from './command-deadlines.js'
import type { Acknowledged } from './acknowledged-transport.js'
import { unacknowledged, unanswered } from './failures.js'
import type { ScriptCall } from './script-call.js'

/** One run of a script on its way, until it is answered or given up. */
export class ScriptCommand<T = unknown> implements InFlight {
  settled = false
  dueAt = 0
  readonly answer: Promise<T>
  private resolve!: (value: T) => void
  private reject!: (error: unknown) => void

  constructor(
    readonly call: ScriptCall<T>,
    private readonly timeoutMs: number,
    private readonly onUnanswered: () => void,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  /** `acknowledged`: where replicas were waited for. */
  answered(reply: unknown, acknowledged: Acknowledged | null): void {
    this.settled = true
    try {
      const value = this.call.parse(reply)
      this.resolve(acknowledged ? this.countedBy(acknowledged, value) : value)
    } catch (error) {
      this.reject(error)
    }
  }

  failed(error: LockError): void {
    this.settled = true
    this.reject(error)
  }

  expire(): void {
    this.onUnanswered()
    this.failed(unanswered(this.timeoutMs, this.call))
  }

  /** @throws RedisUnavailableError too few replicas have what was granted: whether it stays is unknown */
  private countedBy({ replicas, needed }: Acknowledged, value: T): T {
    const granted = this.call.granted?.(value, replicas)
    if (granted !== undefined && replicas < needed.acks) {
      throw unacknowledged(replicas, needed, this.call)
    }
    return granted ?? value
  }
}
