import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient, type LockClientOptions } from '@holdfast/core'
import type { CommonRedisOptions, Redis } from 'ioredis'
import { openHistory, type History } from '../run/history-file.js'
import { StandstillWatch } from './standstill-watch.js'

// ioredis keeps a timer for so long after a disconnect, also when the connection has ended before.
const DISCONNECT_MS = 50

export interface ObservedClientOptions {
  readonly name: string
  readonly file: string
  readonly port: number
  readonly redis?: Pick<CommonRedisOptions, 'retryStrategy' | 'maxLoadingRetryTime' | 'enableAutoPipelining'>
  readonly Carrier: typeof Redis
  readonly client?: LockClientOptions
}

/** A LockClient of a worker process with its connection and its history, closed together and looked over afterwards. */
export class ObservedClient {
  readonly history: History
  readonly redis: Redis
  readonly locks: LockClient
  readonly #standstills: StandstillWatch

  constructor({ name, file, port, redis, Carrier, client }: ObservedClientOptions) {
    this.history = openHistory(file, name)
    this.#standstills = new StandstillWatch(this.history, name)
    this.redis = new Carrier({
      host: '127.0.0.1',
      port,
      retryStrategy: () => 30,
      disconnectTimeout: DISCONNECT_MS,
      ...redis,
    })
    this.redis.on('error', () => undefined)
    this.locks = new LockClient(this.redis, { clientName: name, bareCalls: 'allow', ...client })
    // Losses stand in the history, and a release that failed shows there: nobody has to read them on the terminal.
    for (const event of ['lost', 'release-failed', 'renewal-failed'] as const)
      this.locks.on(event, () => undefined)
  }

  /** Closes the client and its connection, and notes which timers are left. */
  async close(others: readonly { close(): Promise<void> }[] = []): Promise<void> {
    // ioredis tells no end of a connection that it was about to open again.
    await this.redis.ping()
    await this.locks.close()
    const ended = once(this.redis, 'end')
    this.redis.disconnect()
    await ended
    for (const each of others) await each.close()
    this.#standstills.stop()
    await sleep(2 * DISCONNECT_MS)
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    this.history.add('end', { keys: [], channels: [], timers })
    this.history.close()
  }
}
