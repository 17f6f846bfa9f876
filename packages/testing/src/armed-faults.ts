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

interface LoseReply {
  readonly kind: 'lose-reply'
}

interface CopyLate {
  readonly kind: 'copy-late'
  /** Resolves when the server has answered the copy. */
  readonly deliver: (bytes: Buffer) => Promise<void>
}

type Arming = { readonly match: Matcher; readonly times: number } & (LoseReply | CopyLate)

/** What is to be done about one chunk. */
export interface Consequences {
  /** Set when the reply is to be lost: called once it is. */
  readonly replyLost: (() => void) | undefined
  /** To be called when the chunk has been forwarded. */
  readonly forwarded: () => void
}

class ArmedFault implements Fault {
  readonly arming: Arming
  readonly happened: Promise<void>
  #left: number
  #count = 0
  #resolve: () => void = () => undefined
  #reject: (error: unknown) => void = () => undefined

  constructor(arming: Arming) {
    this.arming = arming
    this.#left = arming.times
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

  cancel(): void {
    this.#left = 0
  }

  take(bytes: Buffer): boolean {
    if (this.#left === 0 || !this.arming.match(bytes)) return false
    this.#left -= 1
    return true
  }

  readonly happen = (): void => {
    this.#count += 1
    if (this.#count === this.arming.times) this.#resolve()
  }

  readonly fail = (error: unknown): void => this.#reject(error)
}

/** The faults of one proxy. */
export class ArmedFaults {
  #faults: ArmedFault[] = []

  arm(arming: Arming): Fault {
    const fault = new ArmedFault(arming)
    this.#faults.push(fault)
    return fault
  }

  clear(): void {
    for (const fault of this.#faults) fault.cancel()
    this.#faults = []
  }

  /** Asks every matcher about a chunk. A chunk may have both a lost reply and late copies. */
  meet(bytes: Buffer): Consequences {
    let replyLost: (() => void) | undefined
    const copies: (() => void)[] = []
    for (const fault of this.#faults) {
      const { arming } = fault
      // One reply is lost once; the next matcher keeps its turn for another chunk.
      if (arming.kind === 'lose-reply' && replyLost !== undefined) continue
      if (!fault.take(bytes)) continue
      if (arming.kind === 'lose-reply') replyLost = fault.happen
      else copies.push(() => void arming.deliver(bytes).then(fault.happen, fault.fail))
    }
    return { replyLost, forwarded: () => copies.forEach((send) => send()) }
  }
}
