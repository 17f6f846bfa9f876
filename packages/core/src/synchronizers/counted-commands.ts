import { isQueued } from '../redis/failures.js'
import { AFTER_A_TRANSACTION_MS, isWorthRetrying, pause, untilKnown } from '../redis/until-known.js'
import { reportFailedRelease } from '../diagnostics/reports.js'
import { REPLAY_GUARD_TTL_MS } from '../scripts/replay-guard.js'
import type { OperationStamp } from '../scripts/counter.js'
import type { SynchronizerServices } from './services.js'
import type { Operation, Operations } from './operations.js'
import { namingKind } from './wrong-kind.js'

type Command<R> = (stamp: OperationStamp) => Promise<R>

/** The object a command is about, and how to undo the command's effect. */
export interface Subject {
  readonly lockName: string
  readonly key: string
  /** The kind of object, for the error when its key has another type. */
  readonly what: string
}

/** Sends commands that count once, until their outcome is known. */
export class CountedCommands {
  constructor(
    private readonly session: SynchronizerServices,
    readonly operations: Operations,
  ) {}

  /**
   * For a command that must happen, such as a release: when its caller has been told that Redis is unavailable, it is
   * retried in the background.
   */
  insist<R>(subject: Subject, command: Command<R>, cancel: Command<unknown>): Promise<R> {
    return this.perform(subject, command, (operation, error) => {
      if (isQueued(error)) {
        // Queued in a transaction: it runs at EXEC or was discarded. Sent once more, it still counts once.
        this.finish(subject, operation, () => this.afterPause(() => operation.send(command)))
      } else if (isWorthRetrying(error)) {
        this.finish(subject, operation, () => operation.send(command))
      } else {
        this.cancel(subject, operation, cancel)
      }
    })
  }

  /**
   * For a command that its caller may repeat: once the caller has been told that Redis is unavailable, it must have
   * no later effect.
   */
  attempt<R>(subject: Subject, command: Command<R>, cancel: Command<unknown>): Promise<R> {
    return this.perform(subject, command, (operation) => this.cancel(subject, operation, cancel))
  }

  /** The caller has gone: undoes the command's effect, and prevents a late one. */
  cancel(subject: Subject, operation: Operation, cancel: Command<unknown>): void {
    if (operation.hasNoEffect) {
      operation.end()
    } else {
      this.finish(subject, operation, () => operation.send(cancel))
    }
  }

  /** `close` waits for it: a release that is not sent again would be missing for ever. */
  private perform<R>(
    subject: Subject,
    command: Command<R>,
    onFailure: (operation: Operation, error: unknown) => void,
  ): Promise<R> {
    const outcome = this.untilOutcome(subject, command, onFailure)
    this.session.background.run(outcome)
    return outcome
  }

  private async untilOutcome<R>(
    subject: Subject,
    command: Command<R>,
    onFailure: (operation: Operation, error: unknown) => void,
  ): Promise<R> {
    const operation = this.operations.begin(subject.key)
    const giveUpAt = this.session.runtime.now() + this.session.options.unavailableTimeoutMs
    const send = (): Promise<R> => operation.send(command)
    try {
      const reply = await send().catch((error: unknown) => this.untilKnown(send, error, giveUpAt))
      operation.end()
      return reply
    } catch (error) {
      onFailure(operation, error)
      throw namingKind(error, subject.what)
    }
  }

  private finish(subject: Subject, operation: Operation, send: () => Promise<unknown>): void {
    const { runtime, clientId: owner } = this.session
    // Redis forgets the result of the first copy after this long: from then on another copy would count again.
    const giveUpAt =
      runtime.now() + Number(REPLAY_GUARD_TTL_MS) - 2 * this.session.options.unavailableTimeoutMs
    const work = send()
      .catch((error: unknown) => this.untilKnown(send, error, giveUpAt))
      .catch((error: unknown) =>
        reportFailedRelease(this.session, { lockName: subject.lockName, owner }, error),
      )
      .finally(() => operation.end())
    this.session.background.run(work)
  }

  private async afterPause<R>(send: () => Promise<R>): Promise<R> {
    await pause(AFTER_A_TRANSACTION_MS, this.session.runtime, this.session.abandoned)
    return send()
  }

  private untilKnown<R>(send: () => Promise<R>, error: unknown, giveUpAt: number): Promise<R> {
    if (!isWorthRetrying(error)) {
      return Promise.reject(error)
    }
    return untilKnown(send, this.session, giveUpAt)
  }
}
