import type { PublishCommand } from '../announcement.js'

export interface LinkEvents {
  readonly message: (topic: string, payload: string) => void
  /** Slots have left the node, and their subscriptions with them. */
  readonly moved: () => void
  /** The connection has ended, for good. */
  readonly ended: () => void
}

/** A connection for messages from one node of a cluster. It never reconnects: its topics may have moved. */
export interface MessageLink {
  /** `host:port`, as the slots table names the node. */
  readonly address: string
  /** May never settle if the node replies that the slot is elsewhere: `moved` reports that. */
  listen(topic: string): Promise<unknown>
  unlisten(topic: string): Promise<unknown>
  end(): Promise<void>
}

/** What a client knows of a cluster. An address is a node's `host:port`, as the slots table names it. */
export interface ClusterView {
  /** Whether it is connected, so that the slots can be reloaded. */
  readonly isReady: boolean
  slotOf(key: string): number
  /** The address of the slot's primary; undefined: none is known. */
  ownerOf(slot: number): string | undefined
  /** The address of each slot's primary. The next reload leaves the returned array as it is. */
  owners(): readonly (string | undefined)[]
  /** The primaries to which a connection can be opened. */
  primaries(): readonly string[]
  /** Whether a primary is connected. Of one that was not tried yet, this call opens the connection. */
  isPresent(address: string): boolean
  /** Reloads the slots; `onRefreshed` reports that it is done. */
  refresh(): void
  onRefreshed(listener: () => void): () => void
  /** Null: there is no such primary. */
  link(address: string, command: PublishCommand, events: LinkEvents): MessageLink | null
}
