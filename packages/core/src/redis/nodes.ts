import type { PublishCommand } from './announcement.js'
import type { Probe, SuspectConnection } from './silent-connections.js'

/**
 * The servers that a port leads to: one, or the primaries of a cluster. An address is a node's `host:port`, as the slots
 * table names it.
 */
export interface RedisNodes {
  /** Whether it is connected, so that the slots can be reloaded. */
  readonly isReady: boolean
  slotOf(key: string): number
  /** The address of the slot's primary; undefined: none is known. */
  ownerOf(slot: number): string | undefined
  /** The address of each slot's primary. The next reload leaves the returned array as it is. */
  owners(): readonly (string | undefined)[]
  /** The primaries to which a connection can be opened. */
  primaries(): readonly string[]
  /**
   * Whether commands can be sent to the primary at this address. For a node that was not tried yet, this call opens the
   * connection.
   */
  isPresent(address: string): boolean
  /** Reloads the slots; `onRefreshed` reports that it is done. */
  refresh(): void
  onRefreshed(listener: () => void): () => void
  /** A connection for messages. Null: there is no such primary. */
  link(address: string, command: PublishCommand, events: LinkEvents): MessageLink | null
  /** A new connection to a primary. Null: there is no such primary. */
  probe(address: string): Probe | null
}

export interface LinkEvents {
  /** There is a socket; the server has not answered anything yet. */
  readonly connected: () => void
  readonly message: (topic: string, payload: string) => void
  /** Slots have left the node, and their subscriptions with them. */
  readonly moved: () => void
  /** The connection has ended, for good. `why`: the error that the client reported, if it did. */
  readonly ended: (why?: unknown) => void
}

/**
 * A connection for messages from one server. It never reconnects: its topics may have moved, and clients restore
 * subscriptions without a word, and not all of them.
 */
export interface MessageLink extends SuspectConnection {
  /** `host:port`, as the slots table of a cluster names the node. */
  readonly address: string
  /**
   * Resolves when Redis has confirmed the topic. May never settle if the node replies that the slot is elsewhere: `moved`
   * reports that.
   */
  listen(topic: string): Promise<unknown>
  unlisten(topic: string): Promise<unknown>
  /** May return a promise, which resolves when it has ended. */
  end(): unknown
}

/** A server that is no cluster. Null: it is not known yet where it is. */
export function onlyNode(of: {
  isPresent(): boolean
  link(events: LinkEvents): MessageLink | null
  probe(): Probe | null
}): RedisNodes {
  return {
    isPresent: () => of.isPresent(),
    isReady: false,
    slotOf: () => 0,
    ownerOf: () => '',
    owners: () => [''],
    primaries: () => [''],
    refresh: () => undefined,
    onRefreshed: () => () => undefined,
    link: (_address, _command, events) => of.link(events),
    probe: () => of.probe(),
  }
}
