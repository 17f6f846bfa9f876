import type { MessageNodes } from '../message-links.js'
import type { Probe } from '../silent-connections.js'

/** A cluster as a client knows it. An address is a node's `host:port`, as the slots table names it. */
export interface ClusterView extends MessageNodes {
  /** The address of each slot's primary. The next reload leaves the returned array as it is. */
  owners(): readonly (string | undefined)[]
  /** For a node that was not tried yet, this call opens the connection. */
  isPresent(address: string): boolean
  /** A new connection to a primary. Null: there is no such primary. */
  probe(address: string): Probe | null
}
