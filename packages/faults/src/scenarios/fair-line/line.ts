import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient, type Lock } from '@holdfast/core'
import type { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import type { Fleet, Worker } from '../../run/fleet.js'
import type { Run } from '../../run/scenario.js'
import { scriptStatsOf } from '../../workload/server-stats.js'
import { LOCK, SERVED } from './callers.js'

const QUEUE = 'redisson_lock_queue:{hot}'

type LineRun = Pick<Run<never>, 'redis' | 'after' | 'fleet' | 'interrupted'>

export interface LineSettings {
  readonly processes: number
  readonly resyncMs: number
  readonly leaseMs: number
  readonly holdMs: number
  readonly localPassing?: boolean
}

export interface Finished {
  readonly clientId: string
  readonly ends: Readonly<Record<string, number>>
  readonly stallMs: number
}

/** A server, processes with callers, and a holder that lets them stand in line until all are there. */
export class Line {
  readonly fleet: Fleet

  private constructor(
    private readonly run: LineRun,
    private readonly parts: {
      readonly redis: RedisServer
      readonly admin: Redis
      readonly holder: LockClient
      readonly clientIds: ReadonlyMap<Worker, string>
    },
  ) {
    this.fleet = run.fleet
  }

  static async start(run: LineRun, { processes, ...settings }: LineSettings): Promise<Line> {
    const redis = await run.redis()
    const admin = new Redis(redis.url)
    run.after(() => admin.disconnect())
    const holder = await LockClient.connect(redis.url, { resyncInterval: settings.resyncMs })
    run.after(() => holder.close({ graceMs: 0 }))
    const own = { url: redis.url, localPassing: true, ...settings }
    const workers = await Promise.all(Array.from({ length: processes }, () => run.fleet.launch(own)))
    const ids = workers.map(
      async (worker) => [worker, (await worker.process.call('clientId')) as string] as const,
    )
    return new Line(run, { redis, admin, holder, clientIds: new Map(await Promise.all(ids)) })
  }

  get lock(): Lock {
    return this.parts.holder.getFairLock(LOCK)
  }

  clientIdOf(worker: Worker): string {
    return this.parts.clientIds.get(worker) ?? ''
  }

  /** The first in line first. */
  waiting(): Promise<string[]> {
    return this.parts.admin.lrange(QUEUE, 0, -1)
  }

  untilInLine(length: number): Promise<void> {
    return this.until(async () => (await this.parts.admin.llen(QUEUE)) === length)
  }

  /** Puts callers in line, as many from each process as from any other, all at once. */
  async stand(callers: number): Promise<void> {
    const { workers } = this.fleet
    const share = (i: number): number =>
      Math.floor((callers * (i + 1)) / workers.length) - Math.floor((callers * i) / workers.length)
    await Promise.all(workers.map(({ process }, i) => process.call('stand', share(i))))
    await this.untilInLine(callers)
  }

  /** The same, but neighbours in line are of different processes. */
  async standMixed(callers: number): Promise<void> {
    const { workers } = this.fleet
    for (let standing = 0; standing < callers; standing += workers.length) {
      await Promise.all(workers.slice(0, callers - standing).map(({ process }) => process.call('stand', 1)))
    }
    await this.untilInLine(callers)
  }

  /** The owners that had the lock, and when, in order. */
  async served(): Promise<{ owner: string; atMs: number }[]> {
    const notes = await this.parts.admin.lrange(SERVED, 0, -1)
    return notes.map((note) => ({ owner: note.split(' ')[0] ?? '', atMs: Number(note.split(' ')[1]) }))
  }

  untilServed(callers: number): Promise<void> {
    return this.until(async () => (await this.parts.admin.llen(SERVED)) >= callers)
  }

  forgetServed(): Promise<number> {
    return this.parts.admin.del(SERVED)
  }

  /** Calls and microseconds of scripts since the last `resetStats`. */
  scriptStats(): Promise<{ calls: number; usec: number }> {
    return scriptStatsOf(this.parts.redis)
  }

  resetStats(): Promise<void> {
    return this.parts.redis.resetStats()
  }

  /** Waits for all callers of the processes that live. */
  finish(): Promise<Finished[]> {
    return Promise.all(
      this.fleet.workers.map(async (worker) => ({
        clientId: this.clientIdOf(worker),
        ...((await worker.process.call('finish')) as Omit<Finished, 'clientId'>),
      })),
    )
  }

  /** Closes every client. @returns the keys that are left then, but for what `served` reads, and when they end */
  async close(): Promise<{ key: string; ttlMs: number }[]> {
    await this.fleet.callAll('close')
    await this.fleet.stop()
    await this.parts.holder.close()
    const keys = await this.parts.admin.keys('*')
    const left = keys.filter((key) => key !== SERVED && !key.startsWith('holdfast:latch:'))
    return Promise.all(left.map(async (key) => ({ key, ttlMs: await this.parts.admin.pttl(key) })))
  }

  private async until(condition: () => Promise<boolean>): Promise<void> {
    while (!(await condition())) {
      this.run.interrupted.throwIfAborted()
      await sleep(5)
    }
  }
}
