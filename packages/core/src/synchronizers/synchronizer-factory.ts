import type { SynchronizerServices } from './services.js'
import { checkOneSlot } from '../client/one-slot.js'
import { checkName } from '../arguments/validate.js'
import { CountDownLatch } from './count-down-latch.js'
import { CountedCommands } from './counted-commands.js'
import { OncePerTurn } from './once-per-turn.js'
import { Operations } from './operations.js'
import { PermitExpirableSemaphore } from './permit-expirable-semaphore.js'
import { Semaphore } from './semaphore.js'

/** Makes the synchronizers of one client that are not locks. They have no owners, so contexts do not affect them. */
export class SynchronizerFactory {
  private readonly commands: CountedCommands
  private readonly counts: OncePerTurn<number>

  constructor(private readonly session: SynchronizerServices) {
    this.counts = new OncePerTurn(session.runtime)
    this.commands = new CountedCommands(session, new Operations(session))
  }

  semaphore(name: string): Semaphore {
    this.check(name)
    return new Semaphore(this.session, this.commands, name)
  }

  permitExpirableSemaphore(name: string): PermitExpirableSemaphore {
    this.check(name)
    return new PermitExpirableSemaphore(this.session, this.commands, name)
  }

  countDownLatch(name: string): CountDownLatch {
    this.check(name)
    return new CountDownLatch(this.session, this.commands, this.counts, name)
  }

  /** @throws InvalidArgumentError, ClientClosedError */
  private check(name: string): void {
    checkName(name)
    checkOneSlot(this.session, name)
    this.session.assertOpen(name)
  }
}
