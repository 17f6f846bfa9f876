import type { Redis } from 'ioredis'
import { eventually } from './harness.js'

const MARK = 'message-log:mark'

/** Everything published, in order, as `[channel, payload]`. */
export class MessageLog {
  private readonly seen: [string, string][] = []
  private marks = 0

  private constructor(private readonly publisher: Redis) {}

  static async open(subscriber: Redis, publisher: Redis): Promise<MessageLog> {
    const log = new MessageLog(publisher)
    subscriber.on('pmessage', (_pattern: string, channel: string, payload: string) => {
      log.seen.push([channel, payload])
    })
    await subscriber.psubscribe('*')
    return log
  }

  /** What was published since the last call, by commands that have been answered. */
  async take(): Promise<[string, string][]> {
    this.marks += 1
    const mark = `${this.marks}`
    await this.publisher.publish(MARK, mark)
    // Redis delivers in order, so what was published before the mark is here when the mark is.
    await eventually(() => this.seen.some(([channel, payload]) => channel === MARK && payload === mark))
    return this.seen.splice(0).filter(([channel]) => channel !== MARK)
  }
}
