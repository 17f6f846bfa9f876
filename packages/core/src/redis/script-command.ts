import type { Answer } from '@holdfast/waiter'
import type { LockError, RedisUnavailableError } from '../errors.js'
import type { LockEvents } from '../events.js'
import type { InFlight } from '../runtime/command-deadlines.js'
import type { Acknowledged } from './acknowledged-transport.js'
import {
  abandoned,
  grantedInVain,
  unacknowledged,
  unanswered,
  unexpected,
  UnexpectedReply,
} from './failures.js'
import type { Receiver } from './script-run.js'
import type { ScriptCall } from './script-call.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'

/** Observes failing commands, before their callers are resumed. */
export interface CommandTrouble {
  /** The reason why this server must not grant anything, if there is one. */
  readonly unfit: RedisUnavailableError | null
  unanswered(key: string | undefined): void
  /** The error of the last refusal, until the command is sent again: meanwhile it has certainly not run. */
  refusalOf(command: object): LockError | undefined
  unexpected(details: LockEvents['unexpected-reply']): void
}

/** Whoever sends commands learns first what became of them. */
export interface CommandSender {
  readonly trouble: CommandTrouble
  answered(sent: Receiver, reply: unknown): void
  failed(sent: Receiver, error: unknown): void
}

/** One run of a script, until its reply or its deadline. */
export class ScriptCommand<R = unknown, T = R> implements InFlight, Answer<T>, Receiver {
  settled = false
  dueAt = 0
  onSettled: (() => void) | undefined = undefined
  private resolve: ((value: T) => void) | undefined = undefined
  private reject: ((error: unknown) => void) | undefined = undefined

  constructor(
    readonly call: ScriptCall<R>,
    private readonly handler: ReplyHandler<R, T>,
    private readonly timeoutMs: number,
    private readonly sender: CommandSender,
  ) {}

  /** One consumer may attach before the reply arrives; it is called in the same turn as the reply. */
  then(answered: (value: T) => void, failed: (error: unknown) => void): void {
    this.resolve = answered
    this.reject = failed
  }

  get size(): number {
    return 1
  }

  isWanted(): boolean {
    return !this.settled
  }

  answered(reply: unknown): void {
    this.sender.answered(this, reply)
  }

  failed(error: unknown): void {
    this.sender.failed(this, error)
  }

  /** `acknowledged`: set if replicas were waited for. */
  read(reply: unknown, acknowledged: Acknowledged | null): void {
    // The only place that checks the shape of replies: the code behind it relies on it.
    if (!this.call.script.canAnswer(reply)) {
      this.misread(reply)
      return
    }
    this.settle()
    let value: R
    try {
      const parsed = this.call.parse(reply)
      value = acknowledged ? this.countedBy(acknowledged, parsed) : parsed
      this.refuseFromUnfit(value)
    } catch (error) {
      this.fail(error)
      return
    }
    let read: T
    try {
      read = this.handler.onReply(value)
    } catch (error) {
      this.reject?.(error)
      return
    }
    this.resolve?.(read)
  }

  end(error: LockError): void {
    this.settle()
    this.fail(error)
  }

  /** The reply is not one the script can give. */
  misread(reply: unknown): void {
    const { lockName, script } = this.call
    const cause = new UnexpectedReply(reply)
    const error = unexpected(cause, this.call)
    this.sender.trouble.unexpected({ lockName, script: script.name, reply: cause.reply, error })
    this.end(error)
  }

  expire(): void {
    this.sender.trouble.unanswered(this.call.keys[0])
    this.end(this.sender.trouble.refusalOf(this) ?? unanswered(this.timeoutMs, this.call))
  }

  abandon(): void {
    this.end(abandoned(this.call))
  }

  private settle(): void {
    this.settled = true
    this.onSettled?.()
  }

  private fail(error: unknown): void {
    let read: T | Promise<T>
    try {
      read = this.handler.onError(error)
    } catch (failure) {
      this.reject?.(failure)
      return
    }
    if (read instanceof Promise) {
      void read.then(this.resolve, this.reject)
    } else {
      this.resolve?.(read)
    }
  }

  /** Commands may be sent before the server's version is known, and are answered after it. */
  private refuseFromUnfit(value: R): void {
    const { unfit } = this.sender.trouble
    if (unfit && this.call.granted?.(value, 0) !== undefined) {
      throw grantedInVain(unfit, this.call)
    }
  }

  /** @throws RedisUnavailableError too few replicas have the grant: it may not survive a fail-over */
  private countedBy({ replicas, needed }: Acknowledged, value: R): R {
    const granted = this.call.granted?.(value, replicas)
    if (granted !== undefined && replicas < needed.acks) {
      throw unacknowledged(replicas, needed, this.call)
    }
    return granted ?? value
  }
}
