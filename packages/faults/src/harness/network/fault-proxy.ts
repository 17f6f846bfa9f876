import { setMaxListeners } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { ArmedFaults } from './armed-faults.js'
import type { Fault, Matcher } from './armed-faults.js'
import { deliverCopy } from './late-copy.js'
import { ProxiedConnection } from './proxied-connection.js'
import type { Endpoint } from './round-trip.js'
import { Wire } from './wire.js'

/**
 * A TCP proxy on loopback that misbehaves on demand. It knows RESP only for `dropPushes`: a matcher is shown
 * each chunk as it came from the client. A client that writes several commands at once may have them in one chunk, and a
 * command of many KiB may be split over several; match on bytes near its start.
 */
export class FaultProxy {
  readonly host = '127.0.0.1'
  readonly #server: Server
  #target: Endpoint
  readonly #wire = new Wire()
  readonly #faults = new ArmedFaults()
  readonly #connections = new Set<ProxiedConnection>()
  readonly #stopped = new AbortController()
  #refusing = false
  #accepted = 0

  private constructor(target: Endpoint) {
    this.#target = target
    // Every late copy listens until it is delivered: many are no leak.
    setMaxListeners(0, this.#stopped.signal)
    // A client that has sent its last byte still gets its replies.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client))
  }

  /** Listens on a free port and passes everything on to `target`, which need not be up yet. */
  static async start(target: Endpoint): Promise<FaultProxy> {
    const proxy = new FaultProxy({ host: target.host, port: target.port })
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject)
      proxy.#server.listen(0, proxy.host, resolve)
    })
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** `redis://127.0.0.1:<port>` */
  get url(): string {
    return `redis://${this.host}:${this.port}`
  }

  /** How many connections are present. One whose client left during a black hole counts until it heals. */
  get connections(): number {
    return this.#connections.size
  }

  /** How many connections there have been, present and past, without those that were refused. */
  get accepted(): number {
    return this.#accepted
  }

  /**
   * Back to an ordinary wire: no delay, and the faults that wait for their chunk are disarmed. What a black hole held back is
   * delivered now, late, as after a network partition.
   */
  pass(): void {
    this.#refusing = false
    this.#faults.clear()
    this.#wire.delayMs = 0
    this.#wire.open()
  }

  /** Cuts the present connections and closes each new one at once. */
  refuse(): void {
    this.#refusing = true
    this.cutAll()
  }

  /** Destroys all present connections; new ones are accepted. */
  cutAll(): void {
    for (const connection of [...this.#connections]) connection.cut()
  }

  /** Resets all present connections: unlike an end, a reset is known to the client at once. */
  resetAll(): void {
    for (const connection of [...this.#connections]) connection.cut({ resets: true })
  }

  /** Accepts and keeps connections and forwards nothing either way, neither bytes nor an end, until `pass`. */
  blackHole(): void {
    this.#wire.block()
  }

  /**
   * The present connections, or of them those whose clients have subscribed to channels, are half-open from now on, for
   * good: the server's side is as good as gone, and nothing tells the client, until `cutAll`. New ones are served.
   */
  halfOpenAll(which: 'all' | 'subscribers' = 'all'): void {
    for (const each of this.#connections) if (which === 'all' || each.isSubscriber) each.silence()
  }

  /**
   * Tells all clients, as Redis Software does before a maintenance, that `target` takes the place of this server, in a
   * push of RESP3. What they do then is up to them: nothing is cut.
   */
  announceMoving(target: Endpoint): void {
    const to = `${target.host}:${target.port}`
    const push = Buffer.from(`>4\r\n$6\r\nMOVING\r\n:1\r\n:10\r\n$${to.length}\r\n${to}\r\n`)
    for (const each of this.#connections) each.say(push)
  }

  /** New connections go to `target`, as when an address moves in a fail-over; the present ones stay. */
  retarget(target: Endpoint): void {
    this.#target = { host: target.host, port: target.port }
  }

  /** Holds every chunk up for `ms` in each direction, so that a round trip takes at least `2 * ms`. */
  delay(ms: number): void {
    this.#wire.delayMs = ms
  }

  /**
   * The next `times` matching chunks reach the server, which runs them; what it answers is dropped and the
   * connection is cut then, so that the client cannot know. Whatever else was under way on that connection
   * shares this fate. Happened: the server is done with the chunk and the connection is cut.
   */
  loseReply(match: Matcher, times = 1): Fault {
    return this.#faults.arm({ kind: 'lose-reply', match, times })
  }

  /**
   * The next `times` matching chunks do not reach the server, and the connection is cut, which from the client's
   * side looks like `loseReply`. With `copyLate` the copy is the first that the server hears of it. Happened: the
   * connection is cut.
   */
  loseRequest(match: Matcher, times = 1): Fault {
    return this.#faults.arm({ kind: 'lose-request', match, times })
  }

  /**
   * The next `times` matching chunks reach the server, which runs them; the next that it says on that connection is not
   * passed on, and the client gets this error in its place, as of a proxy that gave up too soon. The connection stays.
   */
  lie(match: Matcher, error: string, times = 1): Fault {
    return this.#faults.arm({ kind: 'lie', error, match, times })
  }

  /**
   * The next `times` matching chunks are forwarded, and so many ms later, or when `after` settles, a copy of the same
   * bytes reaches the server on a connection of its own, past every other fault. Happened: the server has answered the copy, an
   * answer that nobody gets. `happened` rejects when the copy cannot be delivered.
   */
  copyLate(match: Matcher, after: number | Promise<unknown>, times = 1): Fault {
    const deliver = (bytes: Buffer): Promise<void> =>
      deliverCopy(this.#target, bytes, { after, signal: this.#stopped.signal })
    return this.#faults.arm({ kind: 'copy-late', match, times, deliver })
  }

  /**
   * Of the messages to each subscriber (`message`, `pmessage`, `smessage`, RESP2 or RESP3), drops each n-th,
   * counted by connection from now on. Everything else goes through as it is. Happened: the first one is
   * dropped. `happened` rejects when a server does not speak RESP.
   *
   * Arm it while no reply is half-way through, or before the connection is made: what came before was not read.
   * On a connection that has subscribed in RESP2, or that was there before and has not shown yet that it is in
   * RESP3, an array reply that begins like a message counts as one.
   */
  dropPushes(everyNth: number): Fault {
    if (!Number.isSafeInteger(everyNth) || everyNth < 1) {
      throw new RangeError(`everyNth is a positive integer, not ${everyNth}`)
    }
    return this.#faults.armDrop(everyNth)
  }

  /** Cuts everything and stops listening. Safe to call again. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    const closed = new Promise((resolve) => void this.#server.close(resolve))
    this.refuse()
    await closed
  }

  #accept(client: Socket): void {
    if (this.#refusing) {
      client.destroy()
      return
    }
    this.#accepted += 1
    const parts = { client, target: this.#target, wire: this.#wire, faults: this.#faults }
    const connection = new ProxiedConnection(parts, () => void this.#connections.delete(connection))
    this.#connections.add(connection)
  }
}
