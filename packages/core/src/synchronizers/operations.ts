import { RedisUnavailableError } from '../errors.js'
import { operationsKey } from '../keys.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { OperationStamp } from '../scripts/counter.js'
import type { SynchronizerServices } from './services.js'

/**
 * Numbers the operations of one client. The open ones, by key, tell Redis how much it may forget: the results of all
 * operations before the first open one are known here, and a late copy of them has no effect (docs/decisions/0016).
 */
export class Operations {
  private latest = 0
  private readonly open = new Map<string, Set<number>>()

  constructor(private readonly session: Pick<SynchronizerServices, 'clientId' | 'runner'>) {}

  keyOf(key: string): string {
    return operationsKey(key, this.session.clientId)
  }

  begin(key: string): Operation {
    const number = (this.latest += 1)
    const open = this.open.get(key) ?? new Set()
    this.open.set(key, open.add(number))
    return new Operation(this.session.runner, {
      stamp: () => ({ key: this.keyOf(key), number, floor: this.floorOf(key) }),
      end: () => this.end(key, number),
    })
  }

  private floorOf(key: string): number {
    // Added in order, and numbers only grow: the first is the smallest.
    const [first] = this.open.get(key) ?? []
    return (first ?? this.latest + 1) - 1
  }

  private end(key: string, number: number): void {
    const open = this.open.get(key)
    if (open?.delete(number) === true && open.size === 0) {
      this.open.delete(key)
    }
  }
}

/** An operation that counts once, however often its command is sent. Open until its client knows the result. */
export class Operation {
  private doubtful = false
  private inFlight = 0
  private answered = false

  constructor(
    private readonly runner: ScriptRunner,
    private readonly parts: { readonly stamp: () => OperationStamp; readonly end: () => void },
  ) {}

  get stamp(): OperationStamp {
    return this.parts.stamp()
  }

  /** A copy may have run, or may still be in flight. */
  get mayHaveCopies(): boolean {
    return this.doubtful
  }

  /**
   * It has had no effect in Redis, and will have none. False once it was answered: the caller may not have seen the
   * reply yet.
   */
  get hasNoEffect(): boolean {
    return !this.doubtful && !this.answered && this.inFlight === 0
  }

  async send<R>(command: (stamp: OperationStamp) => Promise<R>): Promise<R> {
    const { connectionEpoch } = this.runner
    this.inFlight += 1
    try {
      const reply = await command(this.stamp)
      this.answered = true
      return reply
    } catch (error) {
      this.doubtful ||= error instanceof RedisUnavailableError && error.outcome === 'unknown'
      throw error
    } finally {
      this.inFlight -= 1
      this.doubtful ||= this.runner.connectionEpoch !== connectionEpoch
    }
  }

  /** The result is known, or no longer of interest. */
  end(): void {
    this.parts.end()
  }
}
