import { AsyncResource } from 'node:async_hooks'
import timers from 'node:timers'

const { setImmediate } = timers

// Work for later turns runs in the async context of nobody, as the library's own does outside the simulator.
const outside = new AsyncResource('holdfast-simulator')

interface Happening {
  readonly atMs: number
  /** The one that was planned first, of two at the same moment. */
  readonly number: number
  run: (() => void) | null
}

/** Something on its way, in a lane in which nothing overtakes. */
export interface Delivery {
  readonly lane: string
  /** To whom: what arrives at two of them may as well arrive in the other order. */
  readonly actor: string
  readonly run: () => void
}

/** Decides what arrives next, in place of time. */
export interface Choice {
  /** @param heads the first of each lane @returns what happens; null: nothing more is wanted */
  next(heads: readonly Delivery[]): (() => void) | null
}

/** Something that is to happen. */
export interface Planned {
  cancel(): void
}

/**
 * Time, and what happens in it. One thing happens; then everything runs that it has set going (promise reactions, next
 * ticks, work for later turns), until nothing is pending; then time jumps to the next. Nothing else in the process may
 * wait for anything.
 */
export class World {
  /** Ms since the world began. */
  nowMs = 0
  /** How many things have happened. */
  steps = 0
  /** Null: everything arrives at its time. */
  choice: Choice | null = null
  private readonly lanes = new Map<string, Delivery[]>()
  private readonly heap: Happening[] = []
  private made = 0
  private turnsPending = 0

  at(atMs: number, run: () => void): Planned {
    this.made += 1
    const happening: Happening = { atMs: Math.max(atMs, this.nowMs), number: this.made, run }
    this.push(happening)
    return {
      // A cancelled entry stays in the heap and is thrown away when its time comes.
      cancel: () => {
        happening.run = null
      },
    }
  }

  /** Something travels. Timers are slower than whatever travels where somebody chooses. */
  deliver(delivery: Delivery, atMs: number): void {
    if (this.choice === null) {
      this.at(atMs, delivery.run)
      return
    }
    const lane = this.lanes.get(delivery.lane)
    if (lane) lane.push(delivery)
    else this.lanes.set(delivery.lane, [delivery])
  }

  after(ms: number, run: () => void): Planned {
    return this.at(this.nowMs + ms, run)
  }

  /** Resolves after that much time, without a process: for those who watch. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  /** Like setImmediate. */
  afterTurn(work: () => void): void {
    this.turnsPending += 1
    outside.runInAsyncScope(() =>
      setImmediate(() => {
        this.turnsPending -= 1
        work()
      }),
    )
  }

  /**
   * Lets things happen until `isOver`, or until there is nothing more to come before `endMs`.
   * @returns whether it is over
   */
  run(isOver: () => boolean, endMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const step = (): void => {
        if (this.turnsPending > 0) {
          setImmediate(step)
          return
        }
        try {
          if (isOver()) {
            resolve(true)
          } else if (this.happen(endMs)) {
            setImmediate(step)
          } else {
            this.nowMs = Math.max(this.nowMs, endMs)
            resolve(isOver())
          }
        } catch (error) {
          reject(error)
        }
      }
      setImmediate(step)
    })
  }

  private happen(endMs: number): boolean {
    const isDue = (this.heap[0]?.atMs ?? Infinity) <= this.nowMs
    if (this.choice !== null && this.lanes.size > 0 && !isDue) {
      return this.choose(this.choice)
    }
    for (let next = this.heap[0]; next; next = this.heap[0]) {
      if (next.run !== null && next.atMs > endMs) return false
      this.pop()
      const { run } = next
      if (run !== null) {
        this.nowMs = next.atMs
        this.steps += 1
        next.run = null
        run()
        return true
      }
    }
    return false
  }

  private choose(choice: Choice): boolean {
    const heads = [...this.lanes.values()].map((lane) => lane[0] as Delivery)
    const run = choice.next(heads)
    if (run === null) return false
    this.steps += 1
    run()
    return true
  }

  /** Lets the first of a lane arrive. */
  arrive({ lane, run }: Delivery): void {
    const waiting = this.lanes.get(lane)
    waiting?.shift()
    if (waiting?.length === 0) this.lanes.delete(lane)
    run()
  }

  private push(happening: Happening): void {
    const { heap } = this
    let place = heap.push(happening) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = heap[parent] as Happening
      if (!isBefore(happening, above)) break
      heap[place] = above
      place = parent
    }
    heap[place] = happening
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop() as Happening
    const size = heap.length
    if (size === 0) return
    let place = 0
    for (let child = 1; child < size; child = 2 * place + 1) {
      const right = child + 1
      const least =
        right < size && isBefore(heap[right] as Happening, heap[child] as Happening) ? right : child
      if (!isBefore(heap[least] as Happening, last)) break
      heap[place] = heap[least] as Happening
      place = least
    }
    heap[place] = last
  }
}

const isBefore = (a: Happening, b: Happening): boolean =>
  a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number)
