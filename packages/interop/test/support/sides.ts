import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { JavaSide } from './java-side.js'
import { NodeSide } from './node-side.js'
import { setting } from './setting.js'
import type { Side, SideOptions } from './side.js'

/** A Redis of this file's own, and processes of both languages on it. */
export class Sides {
  server!: RedisServer
  redis!: Redis
  private readonly all: Side[] = []

  async start(): Promise<void> {
    this.server = await RedisServer.start()
    this.redis = new Redis(this.server.url)
  }

  /** Another process; it is killed with the file's last test, if it was not before. */
  async launch(language: 'node', options?: Partial<SideOptions>): Promise<NodeSide>
  async launch(language: Side['language'], options?: Partial<SideOptions>): Promise<Side>
  async launch(language: Side['language'], options: Partial<SideOptions> = {}): Promise<Side> {
    const { fairWaitMs, ...rest } = options
    const settings = {
      url: this.server.url,
      ...(setting.prefix === undefined ? {} : { prefix: setting.prefix }),
      // Both sides must have the same.
      ...(fairWaitMs === undefined || !setting.hasFairWait ? {} : { fairWaitMs }),
      ...rest,
    }
    const side = await (language === 'java' ? JavaSide : NodeSide).start(settings)
    this.all.push(side)
    return side
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((side) => side.kill()))
    this.redis.disconnect()
    await this.server.stop()
  }
}

/** To be called at the top of a test file. */
export function useSides(): Sides {
  const sides = new Sides()
  beforeAll(() => sides.start())
  afterAll(() => sides.stop())
  beforeEach(() => sides.redis.flushall())
  return sides
}

/**
 * Keys that nobody should have left. Tokens stay on purpose, and a latch of an unlock until Redisson deletes it, by a
 * command of its own, or until it ends.
 */
export async function keysLeft(redis: Redis): Promise<string[]> {
  const isOfRedisson = (key: string): boolean => /^redisson_(lock_token|unlock_latch):/.test(key)
  return (await redis.keys('*')).filter((key) => !isOfRedisson(key))
}

/** Resolves as soon as the condition holds; polls, for what Redis has no event for. */
export async function eventually(condition: () => Promise<boolean>, withinMs = 20_000): Promise<void> {
  const endsAt = Date.now() + withinMs
  while (!(await condition())) {
    if (Date.now() > endsAt) {
      throw new Error(`Not within ${withinMs} ms: ${condition.toString()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}
