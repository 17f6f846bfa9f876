import { isHeardEverywhere } from '../../keys.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { PublishCommand } from '../announcement.js'
import type { ClusterView, MessageLink } from './view.js'

export interface ClusterLinksParts {
  readonly cluster: ClusterView
  /** Null until known. */
  readonly publishCommand: () => PublishCommand | null
  readonly runtime: Runtime
}

export interface ClusterLinksEvents {
  readonly message: (topic: string, payload: string) => void
  /** The link's topics may not be received any more. */
  readonly displaced: (link: MessageLink) => void
}

/**
 * Chooses the node for each topic of a cluster: sharded topics are received from the primary of their slot, all
 * others from any node.
 */
export class ClusterLinks {
  private readonly links = new Map<string, MessageLink>()
  private home: MessageLink | null = null

  constructor(
    private readonly parts: ClusterLinksParts,
    private readonly events: ClusterLinksEvents,
  ) {}

  /** Null: the slot has no known primary. */
  for(topic: string): MessageLink | null {
    const { cluster } = this.parts
    if (this.isSharded(topic)) {
      return this.to(cluster.ownerOf(cluster.slotOf(topic)), 'SPUBLISH')
    }
    if (!this.home) {
      const primaries = cluster.primaries()
      this.home = this.to(primaries[Math.floor(this.parts.runtime.random() * primaries.length)], 'PUBLISH')
    }
    return this.home
  }

  /** Whether the link still leads to the topic's node, as far as is known. */
  isRight(link: MessageLink, topic: string): boolean {
    const { cluster } = this.parts
    return this.isSharded(topic)
      ? cluster.ownerOf(cluster.slotOf(topic)) === link.address
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

  private isPrimary(link: MessageLink): boolean {
    return this.parts.cluster.primaries().includes(link.address)
  }

  private isSharded(topic: string): boolean {
    return this.parts.publishCommand() === 'SPUBLISH' && !isHeardEverywhere(topic)
  }

  private to(address: string | undefined, command: PublishCommand): MessageLink | null {
    if (address === undefined) {
      return null
    }
    const key = `${command} ${address}`
    const there = this.links.get(key)
    if (there) {
      return there
    }
    const displaced = (): void => (link ? this.events.displaced(link) : undefined)
    const link = this.parts.cluster.link(address, command, {
      message: this.events.message,
      moved: displaced,
      ended: () => {
        this.links.delete(key)
        this.home = this.home === link ? null : this.home
        displaced()
      },
    })
    if (link) {
      this.links.set(key, link)
    }
    return link
  }
}
