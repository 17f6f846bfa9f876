import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '@holdfast/faults/harness'
import type { SeededRandom } from '../../../../faults/src/harness/seeded-random.js'
import type { CommandUnderLock } from './command-under-lock.js'

/** The things that a harm needs. */
export interface Scene {
  readonly command: CommandUnderLock
  readonly redis: RedisServer
  readonly random: SeededRandom
  readonly leaseMs: number
}

export interface Harm {
  /** For the report. */
  readonly what: string
  /** Whether it may come before the command has begun. */
  readonly early?: true
  /** Whether the command waits first, in order of arrival, behind a holder whose release grants it the lock. */
  readonly waits?: true
  /** Whether the command must be ended by it. */
  readonly ends: boolean
  happen(scene: Scene): Promise<void> | void
}

/** Longer than a lease, and than what remains of one. */
const long = ({ random, leaseMs }: Scene): number => random.between(1.3, 2) * leaseMs
/** Shorter than what is left behind each renewal. */
const short = ({ random, leaseMs }: Scene): number => random.between(0.05, 0.4) * leaseMs

const stopped = async (pid: number | undefined, forMs: number): Promise<void> => {
  if (pid === undefined || !signal(pid, 'SIGSTOP')) return
  await sleep(forMs)
  signal(pid, 'SIGCONT')
}

export const signal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

const killed = (pid: number | undefined): void => {
  if (pid !== undefined) signal(pid, 'SIGKILL')
}

export const HARMS = {
  'cli-killed-early': {
    what: 'the command line is killed while it starts',
    early: true,
    ends: true,
    happen: async ({ command, random }) => {
      await sleep(random.between(0, 700))
      killed(command.pid)
    },
  },
  'cli-stopped-early': {
    what: 'the command line is stopped while it starts, for longer than the lease',
    early: true,
    ends: false,
    happen: async (scene) => {
      await sleep(scene.random.between(0, 700))
      await stopped(scene.command.pid, long(scene))
    },
  },
  waited: {
    what: 'nothing; it has waited for the lock behind a holder',
    waits: true,
    ends: false,
    happen: ({ random, leaseMs }) => sleep(random.between(0, 1) * leaseMs),
  },
  'cli-killed-after-wait': {
    what: 'the command line is killed, after it has waited behind a holder',
    waits: true,
    ends: true,
    happen: ({ command }) => killed(command.pid),
  },
  'cli-killed': {
    what: 'the command line is killed',
    ends: true,
    happen: ({ command }) => killed(command.pid),
  },
  'cli-stopped': {
    what: 'the command line is stopped for longer than the lease',
    ends: true,
    happen: (scene) => stopped(scene.command.pid, long(scene)),
  },
  'cli-stopped-briefly': {
    what: 'the command line is stopped for less than a lease',
    ends: false,
    happen: (scene) => stopped(scene.command.pid, short(scene)),
  },
  'guardian-killed': {
    what: 'the guardian is killed',
    ends: false,
    happen: ({ command }) => killed(command.guardian),
  },
  'guardian-stopped': {
    what: 'the guardian and Redis are stopped for longer than the lease',
    ends: true,
    happen: async (scene) => {
      const { command, redis } = scene
      const { guardian } = command
      if (guardian !== undefined) signal(guardian, 'SIGSTOP')
      await redis.pause()
      await sleep(long(scene))
      redis.resume()
      if (guardian !== undefined) signal(guardian, 'SIGCONT')
    },
  },
  'guardian-replaced': {
    what: 'the guardian is killed, and after its replacement the command line',
    ends: true,
    happen: async ({ command }) => {
      const before = command.guardian
      killed(before)
      while (command.isRunning && [undefined, before].includes(command.guardian)) await sleep(10)
      // Until it has the group.
      await sleep(300)
      killed(command.pid)
    },
  },
  'command-killed': {
    what: 'the command is killed, and leaves a process in its group',
    ends: false,
    happen: ({ command }) => killed(command.group),
  },
  'command-stopped': {
    what: 'the command is stopped, and the command line killed',
    ends: true,
    happen: ({ command }) => {
      if (command.group !== undefined) signal(-command.group, 'SIGSTOP')
      killed(command.pid)
    },
  },
  'redis-stopped': {
    what: 'Redis is stopped for longer than the lease',
    ends: true,
    happen: async (scene) => {
      await scene.redis.pause()
      await sleep(long(scene))
      scene.redis.resume()
    },
  },
  'redis-killed': {
    what: 'Redis is killed, and comes back with its data',
    ends: true,
    happen: async (scene) => {
      await scene.redis.kill()
      await sleep(long(scene))
      await scene.redis.restart()
    },
  },
} satisfies Record<string, Harm>

export type HarmName = keyof typeof HARMS
