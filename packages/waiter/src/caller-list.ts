import type { ParkedCaller } from './parked-caller.js'

/** Callers in order of arrival. Doubly linked, so that leaving from the middle costs the same in any line. */
export class CallerList {
  head: ParkedCaller | undefined = undefined
  length = 0
  private tail: ParkedCaller | undefined = undefined

  append(caller: ParkedCaller): void {
    caller.previous = this.tail
    if (this.tail) this.tail.next = caller
    else this.head = caller
    this.tail = caller
    this.length += 1
  }

  remove(caller: ParkedCaller): void {
    const { previous, next } = caller
    if (previous) previous.next = next
    else this.head = next
    if (next) next.previous = previous
    else this.tail = previous
    // A ticket that somebody keeps must not keep its old neighbours alive.
    caller.previous = undefined
    caller.next = undefined
    this.length -= 1
  }

  /** Whoever takes it out settles it. */
  takeOut(caller: ParkedCaller): void {
    this.remove(caller)
    caller.close()
  }

  /** The head and those behind it, up to the first that does not share. */
  sharedFront(): ParkedCaller[] {
    const front = []
    for (let caller = this.head; caller?.shared; caller = caller.next) front.push(caller)
    return front
  }

  /** Safe against the visited caller leaving the list. */
  forEach(visit: (caller: ParkedCaller) => void): void {
    let caller = this.head
    while (caller) {
      const { next } = caller
      visit(caller)
      caller = next
    }
  }
}
