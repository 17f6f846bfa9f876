import { afterEach, beforeEach, expect } from '@jest/globals'
import { FaultProxy, RedisReplication, type RedisServer } from '@holdfast/faults/harness'
import type { Redis } from 'ioredis'
import type { LockClient, LockClientOptions } from '../../../src/index.js'
import { carrierOf, connectionTo } from './carrier.js'
import { channelOf, eventually } from './rig.js'
import { staysByDesign } from './lasting-keys.js'
import { Opened } from './opened.js'

/** A primary and a replica for one test alone, behind one address that goes with the primary. */
export class MovingPrimary {
  replication!: RedisReplication
  proxy!: FaultProxy
  private readonly opened = new Opened()

  async begin(): Promise<void> {
    this.replication = await RedisReplication.start()
    this.proxy = await FaultProxy.start(this.primary)
  }

  get primary(): RedisServer {
    return this.replication.primary
  }

  get replica(): RedisServer {
    return this.replication.replicas[0]!
  }

  /** Clients connect to this. */
  connection(): Redis {
    const options = { retryStrategy: () => 20, disconnectTimeout: 50 }
    return this.opened.connection(connectionTo(this.proxy.url, options))
  }

  client(options: LockClientOptions = {}): Promise<LockClient> {
    return this.opened.client(carrierOf(this.connection()), options)
  }

  /** From now on the replica gets nothing: what the primary writes is lost with it. */
  cutReplication(): void {
    this.replication.cutReplication()
  }

  /** The primary dies without a word, the replica takes its place and its address. */
  async failOver(): Promise<void> {
    const { replica } = this
    await this.primary.kill()
    await this.replication.promote(replica)
    this.proxy.retarget(replica)
  }

  async someoneWaitsFor(name: string): Promise<void> {
    await eventually(async () =>
      ((await this.primary.command('PUBSUB', 'CHANNELS')) as string[]).includes(channelOf(name)),
    )
  }

  async holds(name: string): Promise<unknown> {
    return this.primary.command('HGETALL', name)
  }

  /** Ends the test: the primary must be empty and have no subscriber left (I5). */
  async finish(): Promise<void> {
    await this.opened.close()
    try {
      const keys = (await this.primary.command('KEYS', '*')) as string[]
      expect(keys.filter((key) => !staysByDesign(key))).toEqual([])
      expect(await this.primary.command('PUBSUB', 'CHANNELS')).toEqual([])
    } finally {
      await this.proxy.stop()
      await this.replication.stop()
    }
  }
}

/** To be called at the top of a describe block. */
export function useMovingPrimary(): MovingPrimary {
  const moving = new MovingPrimary()
  beforeEach(() => moving.begin())
  afterEach(() => moving.finish())
  return moving
}
