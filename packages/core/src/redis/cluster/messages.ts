import type { WakeSource } from '@holdfast/waiter'
import { FOR_REDISSON } from '../../keys.js'
import type { Runtime } from '../../runtime/runtime.js'
import { ClusterLinks, type ClusterLinksParts } from './links.js'
import { isPassing } from '../failures.js'
import { Listeners } from '../listeners.js'
import type { ScriptTransport } from '../redis-port.js'
import type { ClusterView, MessageLink } from './view.js'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

interface Topic {
  readonly name: string
  readonly onMessage: (payload: string) => void
  readonly waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[]
  /** The link it was requested on or is received from; null: none. */
  link: MessageLink | null
  /**
   * The previous link, which may still deliver: when a node loses a slot, Redis does not report which topics it held.
   */
  former: MessageLink | null
  /** It was subscribed once: messages may have been missed since. */
  wasHeard: boolean
}

export interface ClusterMessagesParts extends ClusterLinksParts {
  readonly isErrorReply: ScriptTransport['isErrorReply']
}

/**
 * Messages over separate connections to the nodes of a cluster. The node of a topic changes with fail-overs and
 * migrating slots. Clients follow those too, but report neither the change nor missed messages; so they are
 * followed here, and waiters are notified.
 */
export class ClusterMessages implements WakeSource {
  private readonly runtime: Runtime
  private readonly cluster: ClusterView
  private readonly isErrorReply: ClusterMessagesParts['isErrorReply']
  private readonly stopFollowing: () => void
  private readonly links: ClusterLinks
  private readonly topics = new Map<string, Topic>()
  private readonly listeners = new Listeners()
  private pauses = 0
  private retry: { cancel(): void } | null = null
  private tellsSoon = false
  private closed = false

  constructor(parts: ClusterMessagesParts) {
    this.runtime = parts.runtime
    this.cluster = parts.cluster
    this.isErrorReply = parts.isErrorReply
    this.links = new ClusterLinks(parts, { message: this.deliver, displaced: this.displace })
    this.stopFollowing = this.cluster.onRefreshed(this.follow)
  }

  subscribe(name: string, onMessage: (payload: string) => void): Promise<void> {
    if (this.closed) {
      return Promise.reject(new Error('The subscriber is closed.'))
    }
    const topic: Topic = { name, onMessage, waiting: [], link: null, former: null, wasHeard: false }
    this.topics.set(name, topic)
    const confirmed = new Promise<void>((resolve, reject) => topic.waiting.push({ resolve, reject }))
    this.assign(topic)
    return confirmed
  }

  async unsubscribe(name: string): Promise<void> {
    const topic = this.topics.get(name)
    this.forget(topic, new Error('Unsubscribed before it was confirmed.'))
    await (topic?.link ?? topic?.former)?.unlisten(name)
  }

  onResubscribed(listener: () => void): () => void {
    return this.listeners.add(listener)
  }

  async close(): Promise<void> {
    this.closed = true
    this.stopFollowing()
    this.retry?.cancel()
    this.listeners.clear()
    for (const topic of [...this.topics.values()]) {
      this.forget(topic, new Error('The subscriber is closed.'))
    }
    await this.links.close()
  }

  /** The cluster's slots were reloaded: moves every topic to its current node. */
  readonly follow = (): void => {
    for (const topic of this.topics.values()) {
      if (topic.link && !this.links.isRight(topic.link, topic.name)) {
        // The node does not deliver the topic any more, whatever it replies.
        topic.link.unlisten(topic.name).catch(ignore)
        topic.link = null
      }
      this.assign(topic)
    }
    this.links.endUseless()
  }

  private assign(topic: Topic): void {
    if (topic.link || this.closed) {
      return
    }
    const link = this.links.for(topic.name)
    if (!link) {
      this.assignLater()
      return
    }
    topic.link = link
    link.listen(topic.name).then(
      () => this.heard(topic, link),
      (error: unknown) => this.refused(topic, link, error),
    )
  }

  private readonly deliver = (name: string, payload: string): void => {
    if (payload !== FOR_REDISSON) {
      this.topics.get(name)?.onMessage(payload)
    }
  }

  /** Redis does not report which topics were lost: all of the link's topics are subscribed again. */
  private readonly displace = (link: MessageLink): void => {
    for (const topic of this.topics.values()) {
      if (topic.link === link) {
        topic.link = null
        topic.former = link
        this.assignLater()
      }
    }
  }

  private assignLater(): void {
    if (this.retry || this.closed) {
      return
    }
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.pauses, LONGEST_PAUSE_MS)
    this.pauses += 1
    this.retry = this.runtime.setTimer(pauseMs, () => {
      this.retry = null
      if (this.cluster.isReady) {
        // `follow` runs afterwards.
        this.cluster.refresh()
      }
      this.topics.forEach((topic) => this.assign(topic))
    })
  }

  private heard(topic: Topic, link: MessageLink): void {
    if (!this.isWanted(topic, link)) {
      return
    }
    this.pauses = 0
    topic.waiting.splice(0).forEach(({ resolve }) => resolve())
    if (topic.wasHeard) {
      this.tellSoon()
    }
    topic.wasHeard = true
  }

  /** Confirmations that arrive together cause one notification: each wakes all waiters. */
  private tellSoon(): void {
    if (!this.tellsSoon) {
      this.tellsSoon = true
      this.runtime.nextTick(() => {
        this.tellsSoon = false
        this.listeners.tell()
      })
    }
  }

  /**
   * A permanent refusal (ACL) is reported to the waiting subscribers; topics that were subscribed before are kept.
   */
  private refused(topic: Topic, link: MessageLink, error: unknown): void {
    if (!this.isWanted(topic, link)) {
      return
    }
    topic.link = null
    if (topic.wasHeard || !this.isErrorReply(error) || isPassing(error)) {
      this.assignLater()
    } else {
      this.forget(topic, error)
    }
  }

  /** Meanwhile the topic may have been unsubscribed, or moved to another node. */
  private isWanted(topic: Topic, link: MessageLink): boolean {
    return this.topics.get(topic.name) === topic && topic.link === link
  }

  private forget(topic: Topic | undefined, error: unknown): void {
    if (topic) {
      this.topics.delete(topic.name)
      topic.waiting.splice(0).forEach(({ reject }) => reject(error))
    }
  }
}

function ignore(): void {
  // The node may be gone.
}
