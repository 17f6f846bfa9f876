import { isNativeError } from 'node:util/types'
import { warn } from '../events.js'
import { isHeardEverywhere } from '../keys.js'
import { CommandDeadlines, type InFlight } from '../runtime/command-deadlines.js'
import { foreign } from '../runtime/format-value.js'
import { backOffMs, type Runtime } from '../runtime/runtime.js'
import type { PublishCommand } from './announcement.js'
import { troubleInWords } from './connection-trouble.js'
import type { MessageLink, RedisNodes } from './nodes.js'

const PAUSES = { firstMs: 100, longestMs: 2_000 }
// One end at SUBSCRIBE may be chance.
const MOST_ENDS = 3
const CHECK_AGAIN_MS = 1_000

/**
 * Half to all of 100 ms, doubled for each attempt, at most 2 s.
 * @param attempt from 1
 * @param random in [0, 1)
 */
export function reconnectPause(attempt: number, random: number): number {
  return backOffMs(PAUSES, attempt - 1, random)
}

export interface MessageLinksParts {
  readonly nodes: RedisNodes
  /** Null until known. */
  readonly publishCommand: () => PublishCommand | null
  readonly runtime: Runtime
  /** How long an answer may take, ms. */
  readonly timeoutMs: number
  /** A connection has not answered in time. */
  readonly silent: (link: MessageLink) => void
}

export interface MessageLinksEvents {
  readonly message: (topic: string, payload: string) => void
  /** The link's topics may not be received any more. `isOver`: it has ended. */
  readonly displaced: (link: MessageLink, isOver: boolean) => void
}

/** The state of the connections to one node. */
class NodeRecord {
  link: MessageLink | null = null
  wasConnected = false
  isConfirmed = false
  /** How many have ended in a row without a confirmed subscription, and of those how many had been connected. */
  failures = 0
  endsAtSubscribe = 0
  /** No other is made before. */
  pausedUntil = 0
}

/**
 * Connections for messages, one for each node and kind of messages: sharded topics are received from the primary of
 * their slot, all others from any node. One that ends before Redis has confirmed a subscription is followed by the next
 * after a pause that grows: a server that closes at SUBSCRIBE would be dialled ten times a second.
 */
export class MessageLinks {
  private readonly records = new Map<string, NodeRecord>()
  private readonly deadlines: CommandDeadlines
  private home: MessageLink | null = null
  private nextCheckAt = 0
  private hasWarned = false

  constructor(
    private readonly parts: MessageLinksParts,
    private readonly events: MessageLinksEvents,
  ) {
    this.deadlines = new CommandDeadlines(parts.runtime, parts.timeoutMs, () => undefined)
  }

  /** Null: the slot has no known primary. A number: how many ms are left of a pause. */
  for(topic: string): MessageLink | number | null {
    const { nodes, runtime } = this.parts
    if (this.isSharded(topic)) {
      return this.to(nodes.ownerOf(nodes.slotOf(topic)), 'SPUBLISH')
    }
    if (this.home) {
      return this.home
    }
    const primaries = nodes.primaries()
    // The first, too, where an injected random number is 1.
    const any = primaries[Math.floor(runtime.random() * primaries.length)] ?? primaries[0]
    const link = this.to(any, 'PUBLISH')
    this.home = typeof link === 'object' ? link : null
    return link
  }

  /** Whether the link still leads to the topic's node, as far as is known. */
  isRight(link: MessageLink, topic: string): boolean {
    const { nodes } = this.parts
    return this.isSharded(topic) ? nodes.ownerOf(nodes.slotOf(topic)) === link.address : this.isPrimary(link)
  }

  async listen(link: MessageLink, topic: string): Promise<void> {
    await this.ask(link, link.listen(topic))
    const record = this.recordOf(link)
    if (record) {
      Object.assign(record, { isConfirmed: true, failures: 0, endsAtSubscribe: 0 })
    }
  }

  unlisten(link: MessageLink, topic: string): Promise<unknown> {
    return this.ask(link, link.unlisten(topic))
  }

  /** Asks each connection for an answer, at most once a second: a half-open one only shows when it owes one. */
  check(): void {
    const now = this.parts.runtime.now()
    if (now >= this.nextCheckAt) {
      this.nextCheckAt = now + CHECK_AGAIN_MS
      for (const { link } of this.records.values()) {
        if (link?.isConnected === true) {
          this.ask(link, link.ping()).catch(() => undefined)
        }
      }
    }
  }

  /** The server at this address has not answered in time: whether it answers there is found out. */
  doubt(address: string): void {
    for (const { link } of this.records.values()) {
      if (link?.address === address) {
        this.parts.silent(link)
      }
    }
  }

  /** The servers can be reached: pauses end. */
  endPauses(): void {
    this.records.forEach((each) => (each.pausedUntil = 0))
  }

  /** Ends links to nodes that are no longer primaries; `all`: to every node. */
  endUseless(all = false): void {
    for (const { link } of this.records.values()) {
      if (link && (all || !this.isPrimary(link))) {
        void link.end()
      }
    }
  }

  async close(): Promise<void> {
    this.deadlines.close()
    await Promise.all([...this.records.values()].map(({ link }) => link?.end()))
  }

  private isPrimary(link: MessageLink): boolean {
    return this.parts.nodes.primaries().includes(link.address)
  }

  private isSharded(topic: string): boolean {
    return this.parts.publishCommand() === 'SPUBLISH' && !isHeardEverywhere(topic)
  }

  private recordOf(link: MessageLink): NodeRecord | undefined {
    return [...this.records.values()].find((each) => each.link === link)
  }

  private ask<T>(link: MessageLink, answer: Promise<T>): Promise<T> {
    const due: InFlight = {
      settled: false,
      dueAt: 0,
      expire: () => this.parts.silent(link),
      abandon: () => undefined,
      onSettled: undefined,
    }
    this.deadlines.add(due)
    const settle = (): boolean => (due.settled = true)
    answer.then(settle, settle)
    return answer
  }

  private to(address: string | undefined, command: PublishCommand): MessageLink | number | null {
    if (address === undefined) {
      return null
    }
    // Others are received from one node, whichever it is.
    const key = command === 'PUBLISH' ? command : address
    const record = this.records.get(key) ?? new NodeRecord()
    this.records.set(key, record)
    const pauseMs = record.link ? 0 : record.pausedUntil - this.parts.runtime.now()
    if (pauseMs > 0) {
      return pauseMs
    }
    return (record.link ??= this.dial(record, address, command))
  }

  private dial(record: NodeRecord, address: string, command: PublishCommand): MessageLink | null {
    Object.assign(record, { wasConnected: false, isConfirmed: false })
    const displaced = (isOver: boolean): void => (link ? this.events.displaced(link, isOver) : undefined)
    const link = this.parts.nodes.link(address, command, {
      connected: () => (record.wasConnected = true),
      message: this.events.message,
      moved: () => displaced(false),
      ended: (why) => {
        record.link = null
        this.home = this.home === link ? null : this.home
        this.ended(record, address, why)
        displaced(true)
      },
    })
    return link
  }

  private ended(record: NodeRecord, address: string, why: unknown): void {
    const { runtime, nodes } = this.parts
    record.failures += 1
    record.pausedUntil = runtime.now() + reconnectPause(record.failures, runtime.random())
    // Where commands fail as well, their errors say what is wrong.
    if (record.wasConnected && !record.isConfirmed && nodes.isPresent(address)) {
      record.endsAtSubscribe += 1
      if (record.endsAtSubscribe === MOST_ENDS && !this.hasWarned) {
        this.hasWarned = true
        warn('HOLDFAST_NO_MESSAGES', noMessages(why))
      }
    }
  }
}

function noMessages(why: unknown): string {
  const reason = isNativeError(why) ? ` (${foreign(troubleInWords(why))})` : ''
  return (
    `The connection for messages was ended before Redis confirmed a SUBSCRIBE, ${MOST_ENDS} times in a row${reason}, ` +
    `though commands succeed. It is tried again every ${PAUSES.longestMs / 1_000} s; until it succeeds, nobody is woken ` +
    'by message: waiters look for themselves, every resyncInterval. Check that the server, or the proxy before it, ' +
    'supports Pub/Sub, and has room for another connection of each client.'
  )
}
