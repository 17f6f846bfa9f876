import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { FaultProxy, RedisServer } from '@holdfast/faults/harness'

interface Proxied {
  redis: RedisServer
  proxy: FaultProxy
}

/** A Redis for all tests of a file, empty for each, and for each a proxy in front of it, which `take` is given. */
export const useProxy = (take: (each: Proxied) => void): void => {
  let redis: RedisServer
  let proxy: FaultProxy
  beforeAll(async () => {
    redis = await RedisServer.start()
  })
  afterAll(() => redis.stop())
  beforeEach(async () => {
    await redis.command('FLUSHALL')
    proxy = await FaultProxy.start(redis)
    take({ redis, proxy })
  })
  afterEach(() => proxy.stop())
}

/** Waits until `condition` holds, for what has no event; throws after `limitMs` (in ms). */
export const eventually = async (
  condition: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> => {
  const deadlineMs = performance.now() + limitMs
  while (!(await condition())) {
    if (performance.now() > deadlineMs)
      throw new Error(`not so within ${limitMs} ms: ${condition.toString()}`)
    await sleep(5)
  }
}

/** Whether the process runs or is stopped; a zombie that nobody has reaped yet is not alive. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !/^\) Z/.test(stat.slice(stat.lastIndexOf(')')))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH' && process.platform !== 'linux'
  }
}
