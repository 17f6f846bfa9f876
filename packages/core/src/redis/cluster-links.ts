import { isHeardEverywhere } from '../keys.js'
import type { PublishCommand } from './announcement.js'
import { ClusterLink } from './cluster-link.js'
import { nodeKey, type IoredisCluster, type IoredisNode } from './ioredis-cluster.js'

export interface ClusterLinksParts {
  readonly cluster: IoredisCluster
  readonly slotOf: (key: string) => number
  /** Null while it is not known. */
  readonly publishCommand: () => PublishCommand | null
  readonly random: () => number
}

export interface ClusterLinksEvents {
  readonly message: (topic: string, payload: string) => void
  /** What was heard over it may not be heard any more. */
  readonly displaced: (link: ClusterLink) => void
}

/** Where in a cluster each topic is heard: sharded ones from the primary of their slot, all others from any node. */
export class ClusterLinks {
  private readonly links = new Map<string, ClusterLink>()
  private home: ClusterLink | null = null

  constructor(
    private readonly parts: ClusterLinksParts,
    private readonly events: ClusterLinksEvents,
  ) {}

  /** Null: nobody is known to serve it now. */
  for(topic: string): ClusterLink | null {
    const masters = this.parts.cluster.nodes('master')
    if (this.isSharded(topic)) {
      const owner = this.ownerOf(topic)
      const node = masters.find((each) => nodeKey(each) === owner)
      return node ? this.to(node, 'SPUBLISH') : null
    }
    if (!this.home) {
      const node = masters[Math.floor(this.parts.random() * masters.length)]
      this.home = node ? this.to(node, 'PUBLISH') : null
    }
    return this.home
  }

  /** Whether it is still the place to hear the topic, as far as is known. */
  isRight(link: ClusterLink, topic: string): boolean {
    return this.isSharded(topic) ? this.ownerOf(topic) === link.nodeKey : this.isPrimary(link)
  }

  /** Those to nodes that serve nothing any more. */
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

  private ownerOf(topic: string): string | undefined {
    const { cluster, slotOf } = this.parts
    return cluster.slots[slotOf(topic)]?.[0]
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
