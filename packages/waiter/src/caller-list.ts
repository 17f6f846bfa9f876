import type { ParkedCaller } from './parked-caller.js'

/** Callers in order of arrival. Doubly linked, so that leaving from the middle is O(1). */
export class CallerList {
  head: ParkedCaller | undefined = undefined
  length = 0
  private tail: ParkedCaller | undefined = undefined

  append(caller: ParkedCaller): void {
    caller.previous = this.tail
    if (this.tail) {
      this.tail.next = caller
    } else {
      this.head = caller
    }
    this.tail = caller
    this.length += 1
  }

  remove(caller: ParkedCaller): void {
    const { previous, next } = caller
    if (previous) {
      previous.next = next
    } else {
      this.head = next
    }
    if (next) {
      next.previous = previous
    } else {
      this.tail = previous
    }
    // A kept place must not keep its former neighbours in memory.
    caller.previous = undefined
    caller.next = undefined
    this.length -= 1
  }

  /** Removes a caller; its remover must settle it. */
  takeOut(caller: ParkedCaller): void {
    this.remove(caller)
    caller.close()
  }

  /** Without those that have just entered: the head, or the last ones, which try at once because they fit. */
  get parkedCount(): number {
    let entered = 0
    for (let caller = this.tail; caller && !caller.isParked; caller = caller.previous) {
      entered += 1
    }
    const isHeadCounted = this.head?.isParked !== false || entered === this.length
    return this.length - entered - (isHeadCounted ? 0 : 1)
  }

  /** The head and the adjacent callers that share with it. */
  sharedFront(): ParkedCaller[] {
    const front = []
    for (let caller = this.head; caller?.shared; caller = caller.next) {
      front.push(caller)
    }
    return front
  }

  /** Safe if the visited caller leaves the list. */
  find(matches: (caller: ParkedCaller) => boolean): ParkedCaller | undefined {
    let caller = this.head
    while (caller) {
      const { next } = caller
      if (matches(caller)) {
        return caller
      }
      caller = next
    }
    return undefined
  }

  /** Safe if the visited caller leaves the list. */
  forEach(visit: (caller: ParkedCaller) => void): void {
    let caller = this.head
    while (caller) {
      const { next } = caller
      visit(caller)
      caller = next
    }
  }
}
