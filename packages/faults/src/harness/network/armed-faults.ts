/** Tells whether a chunk from the client is the one to act on. */
export type Matcher = (requestBytes: Buffer) => boolean

/** A fault that waits for its chunk. */
export interface Fault {
  /** Resolves when it has happened as often as asked; stays pending when it is disarmed before. */
  readonly happened: Promise<void>
  /** How often it has happened. */
  readonly count: number
  /** Disarms it. What has matched already still happens. */
  cancel(): void
}

interface Lose {
  readonly kind: 'lose-reply' | 'lose-request'
}

interface CopyLate {
  readonly kind: 'copy-late'
  /** Resolves when the server has answered the copy. */
  readonly deliver: (bytes: Buffer) => Promise<void>
}

interface Lie {
  readonly kind: 'lie'
  readonly error: string
}

type Arming = { readonly match: Matcher; readonly times: number } & (Lose | Lie | CopyLate)

/** The part of a chunk that is lost: with its connection, or, where an error takes the place of its reply, alone. */
export interface Loss {
  readonly of: 'request' | 'reply'
  readonly error: string | undefined
  /** To be called once it is lost. */
  readonly happened: () => void
}

/** The decision about one chunk. */
export interface Consequences {
  readonly loss: Loss | undefined
  /** To be called when the chunk has been forwarded, or is lost. */
  readonly sendCopies: () => void
}

class Happening {
  readonly happened: Promise<void>
  readonly #times: number
  #count = 0
  #resolve: () => void = () => undefined
  #reject: (error: unknown) => void = () => undefined

  /** @param times how often until it counts as happened */
  constructor(times: number) {
    this.#times = times
    this.happened = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // A test that does not look is not to fail by an unhandled rejection.
    this.happened.catch(() => undefined)
  }

  get count(): number {
    return this.#count
  }

  readonly happen = (): void => {
    this.#count += 1
    if (this.#count === this.#times) this.#resolve()
  }

  readonly fail = (error: unknown): void => this.#reject(error)
}

class ArmedFault extends Happening implements Fault {
  readonly arming: Arming
  #left: number

  constructor(arming: Arming) {
    super(arming.times)
    this.arming = arming
    this.#left = arming.times
  }

  cancel(): void {
    this.#left = 0
  }

  take(bytes: Buffer): boolean {
    if (this.#left === 0 || !this.arming.match(bytes)) return false
    this.#left -= 1
    return true
  }
}

class ArmedDrop extends Happening implements Fault {
  readonly #everyNth: number
  /** Messages by connection. */
  readonly #seen = new WeakMap<object, number>()
  #armed = true

  constructor(everyNth: number) {
    super(1)
    this.#everyNth = everyNth
  }

  get armed(): boolean {
    return this.#armed
  }

  cancel(): void {
    this.#armed = false
  }

  meet(connection: object): boolean {
    const nth = (this.#seen.get(connection) ?? 0) + 1
    this.#seen.set(connection, nth)
    if (nth % this.#everyNth !== 0) return false
    this.happen()
    return true
  }
}

/** The faults of one proxy. */
export class ArmedFaults {
  #faults: ArmedFault[] = []
  #drops: ArmedDrop[] = []

  arm(arming: Arming): Fault {
    const fault = new ArmedFault(arming)
    this.#faults.push(fault)
    return fault
  }

  armDrop(everyNth: number): Fault {
    const drop = new ArmedDrop(everyNth)
    this.#drops.push(drop)
    return drop
  }

  clear(): void {
    for (const fault of [...this.#faults, ...this.#drops]) fault.cancel()
    this.#faults = []
    this.#drops = []
  }

  /** Whether anybody wants messages dropped. */
  get dropping(): boolean {
    return this.#drops.some((drop) => drop.armed)
  }

  /** Whether the next message to this connection is to be dropped. Every drop that is armed counts it. */
  dropsPush(connection: object): boolean {
    return this.#drops.filter((drop) => drop.armed && drop.meet(connection)).length > 0
  }

  pushesFailed(error: unknown): void {
    for (const drop of this.#drops) drop.fail(error)
  }

  /** Asks every matcher about a chunk. A chunk may have both a loss and late copies. */
  meet(bytes: Buffer): Consequences {
    let loss: Loss | undefined
    const copies: (() => void)[] = []
    for (const fault of this.#faults) {
      const { arming } = fault
      // A chunk is lost once; the next matcher keeps its turn for another chunk.
      if (arming.kind !== 'copy-late' && loss !== undefined) continue
      if (!fault.take(bytes)) continue
      if (arming.kind === 'copy-late') {
        copies.push(() => void arming.deliver(bytes).then(fault.happen, fault.fail))
      } else {
        const of = arming.kind === 'lose-request' ? 'request' : 'reply'
        loss = { of, error: arming.kind === 'lie' ? arming.error : undefined, happened: fault.happen }
      }
    }
    return { loss, sendCopies: () => copies.forEach((send) => send()) }
  }
}
