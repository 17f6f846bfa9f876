import { jittered, type Runtime } from '../runtime/runtime.js'
import { codeOf } from './failures.js'

const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 100
/** Error codes of cluster nodes while a slot migrates or has no primary: nothing ran. */
const NOT_HERE_NOW = new Set(['MOVED', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN'])

/** Whether a node rejected a command because of where its slot is. */
export function isOfMovingSlot(reply: Error): boolean {
  return NOT_HERE_NOW.has(codeOf(reply))
}

/** Pauses between a cluster's refusal of a command and the next try. */
export class MovingSlots {
  private readonly pauses = new Set<{ cancel(): void }>()
  private closed = false

  constructor(private readonly runtime: Runtime) {}

  /** @param tries number of earlier refusals */
  afterPause(tries: number, sendAgain: () => void): void {
    if (this.closed) {
      return
    }
    const full = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries)
    const timer = this.runtime.setTimer(jittered(full, this.runtime.random()), () => {
      this.pauses.delete(timer)
      sendAgain()
    })
    this.pauses.add(timer)
  }

  /** Cancels all pauses: nothing is sent again. */
  close(): void {
    this.closed = true
    this.pauses.forEach((each) => each.cancel())
    this.pauses.clear()
  }
}
