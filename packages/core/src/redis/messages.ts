import type { WakeSource } from '@holdfast/waiter'
import { FOR_REDISSON } from '../keys.js'
import { proofOf } from './failures.js'
import { Listeners } from './listeners.js'
import { MessageLinks, reconnectPause, type MessageLinksParts } from './message-links.js'
import type { MessageLink } from './nodes.js'
import type { ScriptTransport } from './redis-port.js'

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

export interface MessagesParts extends MessageLinksParts {
  readonly isErrorReply: ScriptTransport['isErrorReply']
}

/**
 * Messages over separate connections, opened with the first subscription: to a server, or to the nodes of a cluster. The
 * node of a topic changes with fail-overs and migrating slots. Clients follow those too, and subscribe again after a
 * break, but report neither the change nor missed messages; so that is done here, and waiters are notified.
 */
export class Messages implements WakeSource {
  private readonly stopFollowing: () => void
  private readonly links: MessageLinks
  private readonly topics = new Map<string, Topic>()
  private readonly listeners = new Listeners()
  private pauses = 0
  private retry: { readonly at: number; cancel(): void } | null = null
  private tellsSoon = false
  private closed = false

  constructor(private readonly parts: MessagesParts) {
    this.links = new MessageLinks(parts, { message: this.deliver, displaced: this.displace })
    this.stopFollowing = parts.nodes.onRefreshed(this.follow)
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

  /** Deferred, because it writes to a socket: a caller that has just received its lock runs first. */
  beforeUnsubscribe(): Promise<void> {
    return new Promise((resolve) => this.parts.runtime.afterTurn(resolve))
  }

  async unsubscribe(name: string): Promise<void> {
    const topic = this.topics.get(name)
    this.forget(topic, new Error('Unsubscribed before it was confirmed.'))
    const link = topic?.link ?? topic?.former
    if (link) {
      await this.links.unlisten(link, name)
    }
  }

  check(): void {
    this.links.check()
  }

  /** The server has not answered a command in time. */
  doubt(address = ''): void {
    this.links.doubt(address)
  }

  /** The server can be reached: a pause that has grown meanwhile ends. */
  hurry(): void {
    this.links.endPauses()
    if (this.retry) {
      this.assignLater(0)
    }
  }

  /** The server is elsewhere. */
  moveAway(): void {
    this.links.endUseless(true)
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
        this.links.unlisten(topic.link, topic.name).catch(ignore)
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
    if (link === null || typeof link === 'number') {
      this.assignLater(link)
      return
    }
    topic.link = link
    this.links.listen(link, topic.name).then(
      () => this.heard(topic, link),
      (error: unknown) => this.refused(topic, link, error),
    )
  }

  private readonly deliver = (name: string, payload: string): void => {
    if (payload !== FOR_REDISSON) {
      this.topics.get(name)?.onMessage(payload)
    }
  }

  /**
   * Redis does not report which topics were lost: all of the link's topics are subscribed again. If it has not ended, the
   * slots have to be reloaded before.
   */
  private readonly displace = (link: MessageLink, isOver: boolean): void => {
    for (const topic of this.topics.values()) {
      if (topic.link === link) {
        topic.link = null
        // node-redis never answers an UNSUBSCRIBE of an ended one: the topic could not be subscribed again.
        topic.former = isOver ? null : link
        if (isOver) {
          this.assign(topic)
        } else {
          this.assignLater(null)
        }
      }
    }
  }

  /** @param pauseMs null: a pause that grows until a topic is confirmed */
  private assignLater(pauseMs: number | null): void {
    const delayMs = pauseMs ?? reconnectPause(this.pauses + 1, this.parts.runtime.random())
    const at = this.parts.runtime.now() + delayMs
    if (this.closed || (this.retry && this.retry.at <= at)) {
      return
    }
    this.pauses += pauseMs === null ? 1 : 0
    this.retry?.cancel()
    const timer = this.parts.runtime.setTimer(delayMs, () => {
      this.retry = null
      if (this.parts.nodes.isReady) {
        // `follow` runs afterwards.
        this.parts.nodes.refresh()
      }
      this.topics.forEach((each) => this.assign(each))
    })
    this.retry = { at, cancel: () => timer.cancel() }
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
      this.parts.runtime.nextTick(() => {
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
    if (topic.wasHeard || !this.parts.isErrorReply(error) || proofOf(error) !== 'for good') {
      this.assignLater(null)
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
