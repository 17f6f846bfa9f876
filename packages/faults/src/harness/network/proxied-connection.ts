import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { ArmedFaults, Loss } from './armed-faults.js'
import { Lane } from './lane.js'
import { PushFilter } from './push-filter.js'
import type { Endpoint } from './round-trip.js'
import type { Wire } from './wire.js'

interface Parts {
  readonly client: Socket
  readonly target: Endpoint
  readonly wire: Wire
  readonly faults: ArmedFaults
}

const SUBSCRIBES = ['subscribe', 'SUBSCRIBE']

/** One client's connection and the one to the server that belongs to it. */
export class ProxiedConnection {
  readonly #client: Socket
  readonly #faults: ArmedFaults
  readonly #pushes: PushFilter
  readonly #onGone: () => void
  #server: Socket | undefined
  /** Whom to tell that the reply is lost; from the first one on nothing that the server says is passed on. */
  readonly #losses: (() => void)[] = []
  /** Whose replies an error is said in place of. */
  readonly #lies: Loss[] = []
  #cut = false
  #silent = false
  #isSubscriber = false

  constructor({ client, target, wire, faults }: Parts, onGone: () => void) {
    this.#client = client
    this.#faults = faults
    this.#pushes = new PushFilter({
      get armed() {
        return faults.dropping
      },
      drops: () => faults.dropsPush(this),
      failed: (error) => faults.pushesFailed(error),
    })
    this.#onGone = onGone
    const connected = wire.arrival(performance.now(), wire.delayMs).then(() => this.#connect(target, wire))
    new Lane(client, wire, connected, {
      chunk: (bytes) => this.#request(bytes),
      ended: () => this.#server?.end(),
      closed: () => this.#clientClosed(),
    })
  }

  /** Whether its client has asked for messages. */
  get isSubscriber(): boolean {
    return this.#isSubscriber
  }

  /** Passes nothing on any more, not even an end, until it is cut. */
  silence(): void {
    this.#silent = true
  }

  /** Sends the client what the server has not said. */
  say(bytes: Buffer): void {
    if (!this.#cut && !this.#silent) this.#toClient(bytes)
  }

  /** Destroys both sides at once; what was under way is lost. */
  cut({ resets = false } = {}): void {
    if (this.#cut) return
    this.#cut = true
    if (resets) this.#client.resetAndDestroy()
    else this.#client.destroy()
    this.#server?.destroy()
    for (const lost of this.#losses) lost()
    this.#onGone()
  }

  #connect(target: Endpoint, wire: Wire): void {
    if (this.#cut) return
    const server = connect({ ...target, noDelay: true, allowHalfOpen: true })
    this.#server = server
    new Lane(server, wire, Promise.resolve(), {
      chunk: (bytes) => this.#reply(bytes),
      ended: () => this.#replyEnded(),
      closed: () => this.#serverClosed(),
    })
  }

  #request(bytes: Buffer): void {
    this.#isSubscriber ||= SUBSCRIBES.some((name) => bytes.includes(name))
    if (this.#cut || this.#silent || this.#server?.writable !== true) return
    const { loss, sendCopies } = this.#faults.meet(bytes)
    if (loss?.error !== undefined) this.#lies.push(loss)
    else if (loss !== undefined) this.#losses.push(loss.happened)
    if (loss?.of === 'request') this.cut()
    else this.#server.write(bytes)
    sendCopies()
  }

  #reply(bytes: Buffer): void {
    if (this.#cut || this.#silent) return
    const lie = this.#lies.shift()
    if (lie !== undefined) {
      this.#toClient(Buffer.from(`-${lie.error}\r\n`))
      lie.happened()
    } else if (this.#losses.length === 0) this.#toClient(this.#pushes.pass(bytes))
    // This may answer an earlier request only. But the server closes when it has run all that came before the
    // end, and the connection is cut then.
    else this.#server?.end()
  }

  #toClient(bytes: Buffer): void {
    if (bytes.length > 0) this.#client.write(bytes)
  }

  #replyEnded(): void {
    if (this.#silent) return
    if (this.#losses.length > 0) this.#server?.end()
    else {
      this.#toClient(this.#pushes.flush())
      this.#client.end()
    }
  }

  #clientClosed(): void {
    if (this.#silent) return
    if (this.#server === undefined || this.#server.closed) this.cut()
    // To destroy it could keep the server from running the command.
    else if (this.#losses.length > 0) this.#server.end()
    else this.#server.destroySoon()
  }

  #serverClosed(): void {
    if (this.#silent) return
    if (this.#losses.length > 0 || this.#client.closed) this.cut()
    else {
      this.#toClient(this.#pushes.flush())
      this.#client.destroySoon()
    }
  }
}
