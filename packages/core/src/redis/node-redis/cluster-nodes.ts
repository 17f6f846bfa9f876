import type { Runtime } from '../../runtime/runtime.js'
import type { PublishCommand } from '../announcement.js'
import { hashSlot } from '../hash-slot.js'
import { Listeners } from '../listeners.js'
import type { LinkEvents, MessageLink, RedisNodes } from '../nodes.js'
import type { Probe } from '../silent-connections.js'
import { PLAIN, probeOf } from './client.js'
import { messageLink } from './message-link.js'
import { nodeOrigin } from './origins.js'
import { OwnCarrier } from './own-carrier.js'
import type { NodeRedisCluster } from './several.js'
import { EMPTY_TABLE, hostOf, slotsIn, type SlotsTable } from './slots-table.js'

// A node that stands still must not keep others from being asked.
const LONGEST_LOAD_MS = 1_000

export interface ClusterNodesEvents {
  /** A connection to a node is ready, for the first time or again. */
  readonly ready: (address: string, carrier: OwnCarrier) => void
  /** A connection to a node broke, or could not be made; called before the callers of commands in flight are resumed. */
  readonly broke: (error: unknown) => void
}

/**
 * A connection of our own to each primary of a cluster, and the slots as these nodes tell them. node-redis reloads the
 * slots only when a command is redirected, reports nothing when it has, and waits for ever for a new node that is down.
 */
export class NodeRedisClusterNodes implements RedisNodes {
  private table: SlotsTable = EMPTY_TABLE
  private readonly carriers = new Map<string, OwnCarrier>()
  private readonly refreshed = new Listeners()
  private loading: { cancel(): void } | null = null
  private closed = false

  constructor(
    private readonly cluster: NodeRedisCluster,
    private readonly runtime: Runtime,
    private readonly events: ClusterNodesEvents,
  ) {}

  /** Whether the slots are known, and a primary that has some is connected. */
  get isConnected(): boolean {
    return [...this.table.primaries].some((address) => this.isPresent(address))
  }

  get isReady(): boolean {
    return this.cluster.isOpen && !this.closed
  }

  slotOf(key: string): number {
    return hashSlot(key)
  }

  ownerOf(slot: number): string | undefined {
    return this.table.owners[slot]
  }

  owners(): readonly (string | undefined)[] {
    return this.table.owners
  }

  primaries(): readonly string[] {
    return [...this.table.primaries]
  }

  isPresent(address: string): boolean {
    return this.carriers.get(address)?.isReady === true
  }

  onRefreshed(listener: () => void): () => void {
    return this.refreshed.add(listener)
  }

  link(address: string, command: PublishCommand, events: LinkEvents): MessageLink | null {
    const carrier = this.carriers.get(address)
    return carrier ? messageLink(address, carrier, command, events) : null
  }

  probe(address: string): Probe | null {
    const carrier = this.carriers.get(address)
    return carrier ? probeOf(carrier) : null
  }

  /** The connection to the node; it may not be ready. */
  at(address: string): OwnCarrier {
    const there = this.carriers.get(address)
    if (there) {
      return there
    }
    const carrier = new OwnCarrier(this.runtime, nodeOrigin(this.cluster, address))
    this.carriers.set(address, carrier)
    carrier.on('ready', () => this.events.ready(address, carrier))
    carrier.on('error', (error: unknown) => this.events.broke(error))
    return carrier
  }

  /** The connection for commands of a slot, or of any; null: there is none now. */
  readyFor(slot: number | null): { readonly address: string; readonly carrier: OwnCarrier } | null {
    const address = slot === null ? this.anyReady() : this.ownerOf(slot)
    const carrier = address === undefined ? undefined : this.carriers.get(address)
    return address !== undefined && carrier?.isReady ? { address, carrier } : null
  }

  /** Asks a node for the slots. Without a connection, connects to all nodes that are known. */
  refresh(): void {
    if (this.closed || this.loading) {
      return
    }
    const address = this.anyReady()
    const carrier = address === undefined ? undefined : this.carriers.get(address)
    if (address === undefined || !carrier) {
      this.everyAddress().forEach((each) => this.at(each))
      return
    }
    const load = this.runtime.setTimer(LONGEST_LOAD_MS, () => (this.loading = null))
    this.loading = load
    const loaded = (reply: unknown): void => {
      load.cancel()
      if (this.loading === load) {
        this.loading = null
      }
      const table = slotsIn(reply, hostOf(address))
      if (table && !this.closed) {
        this.use(table)
      }
    }
    carrier.sendCommand(['CLUSTER', 'SLOTS'], PLAIN).then(loaded, () => loaded(null))
  }

  /** A node says that a slot has moved. */
  moved(slot: number, address: string): void {
    if (this.ownerOf(slot) !== address) {
      const owners = [...this.table.owners]
      owners[slot] = address
      this.table = { ...this.table, owners, primaries: new Set([...this.table.primaries, address]) }
      this.at(address)
    }
    this.refresh()
  }

  close(): void {
    this.closed = true
    this.loading?.cancel()
    this.refreshed.clear()
    this.carriers.forEach((each) => each.end())
    this.carriers.clear()
  }

  private use(table: SlotsTable): void {
    this.table = table
    table.primaries.forEach((address) => this.at(address))
    for (const [address, carrier] of this.carriers) {
      if (!table.primaries.has(address)) {
        this.carriers.delete(address)
        this.events.broke(new Error(`${address} is no primary any more.`))
        carrier.end()
      }
    }
    this.refreshed.tell()
  }

  /** Any of those that are connected: one of them may know less than the others. */
  private anyReady(): string | undefined {
    const ready = [...this.carriers].filter(([, { isReady }]) => isReady)
    return ready[Math.floor(this.runtime.random() * ready.length)]?.[0]
  }

  private everyAddress(): Set<string> {
    const { masters, replicas } = this.cluster
    const told = [...masters, ...replicas].map(({ address }) => address)
    return new Set([...this.table.primaries, ...this.table.replicas, ...told])
  }
}
