import type { LockError } from '../errors.js'
import { backOffMs, type Runtime } from '../runtime/runtime.js'
import { codeOf } from './failures.js'

const PAUSES = { firstMs: 10, longestMs: 100 }
/** Error codes of cluster nodes while a slot migrates or has no primary: nothing ran. */
const NOT_HERE_NOW = new Set(['MOVED', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN'])

/** Whether a node rejected a command because of where its slot is. */
export function isOfMovingSlot(reply: Error): boolean {
  return NOT_HERE_NOW.has(codeOf(reply))
}

/** Commands that a cluster has refused because of a moving slot: each is sent again after a pause. */
export class MovingSlots {
  private readonly commands = new WeakMap<Wanted, Refused>()
  private readonly pauses = new Set<{ cancel(): void }>()
  private closed = false

  constructor(private readonly runtime: Runtime) {}

  /** Sends it again, as long as its caller waits. No copy of it is in flight until then, because it did not run. */
  refused(command: Wanted, error: LockError, sendAgain: () => void): void {
    const tries = this.commands.get(command)?.tries ?? 0
    this.commands.set(command, { tries: tries + 1, error })
    if (this.closed) {
      return
    }
    const timer = this.runtime.setTimer(backOffMs(PAUSES, tries, this.runtime.random()), () => {
      this.pauses.delete(timer)
      if (command.isWanted()) {
        this.commands.set(command, { tries: tries + 1, error: undefined })
        sendAgain()
      }
    })
    this.pauses.add(timer)
  }

  /** The error of the last refusal; undefined: the command was not refused, or was sent again since. */
  refusalOf(command: object): LockError | undefined {
    return this.commands.get(command as Wanted)?.error
  }

  /** Cancels all pauses: nothing is sent again. */
  close(): void {
    this.closed = true
    this.pauses.forEach((each) => each.cancel())
    this.pauses.clear()
  }
}

interface Wanted {
  isWanted(): boolean
}

interface Refused {
  readonly tries: number
  readonly error: LockError | undefined
}
