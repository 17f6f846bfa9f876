import type { Redis } from 'ioredis'
import { eventually } from './rig.js'

/** The question of a client that connects, to itself: whether it may publish. */
const ASKS_ITSELF = /^holdfast:client:[^:]+$/

/**
 * Everything published, or what channels of one name hear, in order, as `[channel, payload]`; without what clients say to
 * themselves when they connect.
 */
export class MessageLog {
  private readonly seen: [string, string][] = []
  private marks = 0

  private constructor(
    private readonly publisher: Redis,
    private readonly markChannel: string,
  ) {}

  /** @param name for a Redis that other tests use too */
  static async open(subscriber: Redis, publisher: Redis, name = ''): Promise<MessageLog> {
    const log = new MessageLog(publisher, `message-log:mark:${name}`)
    subscriber.on('pmessage', (_pattern: string, channel: string, payload: string) => {
      log.seen.push([channel, payload])
    })
    await subscriber.psubscribe(`*${name}*`)
    return log
  }

  /** The messages since the last call, by commands that have been answered. */
  async take(): Promise<[string, string][]> {
    this.marks += 1
    const mark = `${this.marks}`
    await this.publisher.publish(this.markChannel, mark)
    // Redis delivers in order, so what was published before the mark is here when the mark is.
    await eventually(() =>
      this.seen.some(([channel, payload]) => channel === this.markChannel && payload === mark),
    )
    return this.seen
      .splice(0)
      .filter(
        ([channel, payload]) =>
          channel !== this.markChannel && !(payload === '0' && ASKS_ITSELF.test(channel)),
      )
  }
}
