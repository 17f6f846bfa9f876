import type { PublishCommand } from '../announcement.js'
import { hashSlot } from '../hash-slot.js'
import type { LinkEvents, MessageLink, RedisNodes } from '../nodes.js'
import type { Probe } from '../silent-connections.js'
import { IoredisMessageLink } from './message-link.js'
import { probeOf } from './own-ioredis.js'
import { nodeKey, ownerOf, primaryAt, type IoredisCluster } from './cluster.js'
import { ignore } from './sender.js'

/** The slots as an ioredis Cluster knows them. */
export class IoredisClusterView implements RedisNodes {
  constructor(private readonly cluster: IoredisCluster) {}

  get isReady(): boolean {
    return this.cluster.status === 'ready'
  }

  slotOf(key: string): number {
    return hashSlot(key)
  }

  ownerOf(slot: number): string | undefined {
    return ownerOf(this.cluster, slot)
  }

  owners(): readonly (string | undefined)[] {
    return Array.from(this.cluster.slots, (nodes) => nodes?.[0])
  }

  primaries(): readonly string[] {
    return this.cluster.nodes('master').map(nodeKey)
  }

  isPresent(address: string): boolean {
    const node = primaryAt(this.cluster, address)
    // ioredis connects to nodes lazily, and lists unconnected ones as if they were up.
    if (node?.status === 'wait') {
      node.connect().catch(ignore)
    }
    return node?.status === 'ready'
  }

  refresh(): void {
    this.cluster.refreshSlotsCache()
  }

  onRefreshed(listener: () => void): () => void {
    this.cluster.on('refresh', listener)
    return () => void this.cluster.off('refresh', listener)
  }

  link(address: string, command: PublishCommand, events: LinkEvents): MessageLink | null {
    const node = primaryAt(this.cluster, address)
    return node ? new IoredisMessageLink(address, node, command, events) : null
  }

  probe(address: string): Probe | null {
    const node = primaryAt(this.cluster, address)
    return node ? probeOf(node) : null
  }
}
