import {
  cancel,
  getCounter,
  trySet,
  type AnnouncedArguments,
  type OperationStamp,
  type TrySetArguments,
} from '../scripts/counter.js'
import type { CountedCommands, Subject } from './counted-commands.js'
import type { SynchronizerServices } from './services.js'
import { namingKind } from './wrong-kind.js'

/** The number in Redis that a synchronizer consists of. `C`: the arguments of its scripts, each of which counts once. */
export class Counter<C extends AnnouncedArguments = AnnouncedArguments> {
  constructor(
    private readonly session: SynchronizerServices,
    readonly commands: CountedCommands,
    readonly subject: Subject & Omit<C, 'stamp'>,
  ) {}

  argumentsOf(stamp: OperationStamp): C {
    return { ...this.subject, stamp } as unknown as C
  }

  async read(): Promise<number> {
    const { lockName, key, what } = this.subject
    const operationsKey = this.commands.operations.keyOf(key)
    try {
      return await getCounter(this.session.runner, { lockName, key, operationsKey })
    } catch (error) {
      throw namingKind(error, what)
    }
  }

  /** Sets the number unless there is one. */
  trySet(initial: Pick<TrySetArguments, 'value' | 'ttlMs' | 'message'>): Promise<boolean> {
    return this.attempt((given) => trySet(this.session.runner, { ...given, ...initial }))
  }

  /** @param unit how much is released per 1 of the outcome, once its caller has gone */
  attempt<R>(send: (given: C) => Promise<R>, unit = 0): Promise<R> {
    return this.commands.attempt(
      this.subject,
      (stamp) => send(this.argumentsOf(stamp)),
      (stamp) => this.cancel(stamp, unit),
    )
  }

  insist<R>(send: (given: C) => Promise<R>): Promise<R> {
    return this.commands.insist(
      this.subject,
      (stamp) => send(this.argumentsOf(stamp)),
      (stamp) => this.cancel(stamp, 0),
    )
  }

  /** @param unit as for `attempt`; 0: a command that has taken effect stays */
  cancel(stamp: OperationStamp, unit: number): Promise<number> {
    return cancel(this.session.runner, { ...this.argumentsOf(stamp), unit })
  }
}
