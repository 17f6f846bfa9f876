import { isHeardEverywhere } from '../../keys.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { PublishCommand } from '../announcement.js'
import { ClusterLink } from './cluster-link.js'
import { nodeKey, ownerOf, primaryOf, type IoredisCluster, type IoredisNode } from './cluster.js'

export interface ClusterLinksParts {
  readonly cluster: IoredisCluster
  readonly slotOf: (key: string) => number
  /** Null until known. */
  readonly publishCommand: () => PublishCommand | null
  readonly runtime: Runtime
}

export interface ClusterLinksEvents {
  readonly message: (topic: string, payload: string) => void
  /** The link's topics may not be received any more. */
  readonly displaced: (link: ClusterLink) => void
}

/**
 * Chooses the node for each topic of a cluster: sharded topics are received from the primary of their slot, all
 * others from any node.
 */
export class ClusterLinks {
  private readonly links = new Map<string, ClusterLink>()
  private home: ClusterLink | null = null

  constructor(
    private readonly parts: ClusterLinksParts,
    private readonly events: ClusterLinksEvents,
  ) {}

  /** Null: the slot has no known primary. */
  for(topic: string): ClusterLink | null {
    const { cluster, slotOf } = this.parts
    if (this.isSharded(topic)) {
      const node = primaryOf(cluster, slotOf(topic))
      return node ? this.to(node, 'SPUBLISH') : null
    }
    if (!this.home) {
      const masters = cluster.nodes('master')
      const node = masters[Math.floor(this.parts.runtime.random() * masters.length)]
      this.home = node ? this.to(node, 'PUBLISH') : null
    }
    return this.home
  }

  /** Whether the link still leads to the topic's node, as far as is known. */
  isRight(link: ClusterLink, topic: string): boolean {
    return this.isSharded(topic)
      ? ownerOf(this.parts.cluster, this.parts.slotOf(topic)) === link.nodeKey
      : this.isPrimary(link)
  }

  /** Ends links to nodes that are no longer primaries. */
  endUseless(): void {
    for (const link of this.links.values()) {
      if (!this.isPrimary(link)) {
        void link.end()
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.links.values()].map((each) => each.end()))
  }

  private isPrimary(link: ClusterLink): boolean {
    return this.parts.cluster.nodes('master').some((each) => nodeKey(each) === link.nodeKey)
  }

  private isSharded(topic: string): boolean {
    return this.parts.publishCommand() === 'SPUBLISH' && !isHeardEverywhere(topic)
  }

  private to(node: IoredisNode, command: PublishCommand): ClusterLink {
    const key = `${command} ${nodeKey(node)}`
    const there = this.links.get(key)
    if (there) {
      return there
    }
    const link: ClusterLink = new ClusterLink(node, command, {
      message: this.events.message,
      moved: () => this.events.displaced(link),
      ended: () => {
        this.links.delete(key)
        this.home = this.home === link ? null : this.home
        this.events.displaced(link)
      },
    })
    this.links.set(key, link)
    return link
  }
}
