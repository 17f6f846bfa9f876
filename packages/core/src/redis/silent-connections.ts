import { afterAnswers, jittered, type Runtime } from '../runtime/runtime.js'

// Clients notice the same fault at the same moment: their new connections are spread over this time.
const SPREAD_MS = 1_000
// A server that was blocked answers all connections when it goes on: the suspected one gets that long to be heard.
const LAST_CHANCE_MS = 500
// A new connection that gets no answer for as many time limits is given up for another.
const LONGEST_PROBE = 10

/** A connection that owes an answer. */
export interface SuspectConnection {
  /** Its socket, or what else changes when the client connects again. */
  readonly socket: unknown
  /** Whether it has a socket that is connected, as far as the client knows. */
  readonly isConnected: boolean
  /** Asks for an answer that every server gives at once. Rejects when the client knows that the connection is broken. */
  ping(): Promise<unknown>
  /** It is half-open: it leads nowhere, although its server can be reached. */
  drop(): void
}

/** A new connection to the same server. */
export interface Probe {
  /** Rejects when it could not be made. */
  readonly answered: Promise<unknown>
  end(): void
}

export interface SilentConnectionsParts {
  readonly runtime: Runtime
  /** How long an answer may take, ms. */
  readonly timeoutMs: number
  /** Null: it is not known yet where to connect. */
  readonly dial: () => Probe | null
}

/**
 * Finds out which connections to one server are half-open. The network has forgotten such a connection (a firewall, a
 * NAT, a machine that is gone), and tells neither side: to the client it looks like a server that takes its time. So one
 * new connection is made, for all that are silent; a connection is dropped only when the new one has answered, and it
 * still has not. A blocked server answers neither, and gets no further connection meanwhile.
 */
export class SilentConnections {
  /** By their sockets. */
  private readonly suspects = new Map<unknown, SuspectConnection>()
  private probe: Probe | null = null
  private timer: { cancel(): void } | null = null
  private failures = 0
  private closed = false

  constructor(private readonly parts: SilentConnectionsParts) {}

  /** The connection has not given an answer in time. */
  suspect(connection: SuspectConnection): void {
    const { socket } = connection
    if (this.closed || !connection.isConnected || this.suspects.has(socket)) {
      return
    }
    this.suspects.set(socket, connection)
    connection.ping().then(
      () => this.clear(socket),
      // A client's own time limit says nothing.
      () => (isSame(connection, socket) ? undefined : this.clear(socket)),
    )
    if (!this.probe && !this.timer) {
      this.dialAfter(this.parts.runtime.random() * SPREAD_MS)
    }
  }

  close(): void {
    this.closed = true
    this.rest()
  }

  private clear(socket: unknown): void {
    this.suspects.delete(socket)
    if (this.suspects.size === 0) {
      this.rest()
    }
  }

  private rest(): void {
    this.suspects.clear()
    this.failures = 0
    this.endProbe()
  }

  private endProbe(): void {
    this.timer?.cancel()
    this.timer = null
    this.probe?.end()
    this.probe = null
  }

  private dialAfter(pauseMs: number): void {
    this.timer = this.parts.runtime.setTimer(pauseMs, () => {
      this.timer = null
      this.dial()
    })
  }

  private dial(): void {
    const { runtime, timeoutMs, dial } = this.parts
    const probe = dial()
    if (!probe) {
      this.failed()
      return
    }
    this.probe = probe
    this.timer = runtime.setTimer(LONGEST_PROBE * timeoutMs, () => this.failed())
    probe.answered.then(
      () => this.probe === probe && this.decideSoon(),
      () => this.probe === probe && this.failed(),
    )
  }

  /** The server cannot be reached, or not from here: nothing is known about the others. */
  private failed(): void {
    const { runtime, timeoutMs } = this.parts
    this.endProbe()
    this.failures += 1
    this.dialAfter(jittered(timeoutMs * Math.min(2 ** this.failures, LONGEST_PROBE), runtime.random()))
  }

  private decideSoon(): void {
    this.timer?.cancel()
    this.timer = afterAnswers(this.parts.runtime, LAST_CHANCE_MS, () => {
      const silent = [...this.suspects].filter(([socket, each]) => isSame(each, socket))
      this.rest()
      silent.forEach(([, each]) => each.drop())
    })
  }
}

function isSame({ isConnected, socket }: SuspectConnection, before: unknown): boolean {
  return isConnected && socket === before
}
