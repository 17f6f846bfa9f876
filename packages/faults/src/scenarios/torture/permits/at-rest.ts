import { setTimeout as sleep } from 'node:timers/promises'
import type { LockClient, PermitExpirableSemaphore, Semaphore } from '@holdfast/core'
import type { PoolAtRest } from '../../../workload/check-permits.js'
import type { Victim } from '../../../workload/faults.js'
import type { SemaphoreHistory } from '../../../workload/permit-uses.js'
import type { Register } from '../../../workload/register.js'
import { Take } from '../../../workload/take.js'

const SLACK_MS = 1_000
const HELD_BY_EACH = 2

export const isEnding = (name: string): boolean => name.startsWith('permits:')

export const semaphoreNamed = (locks: LockClient, name: string): Semaphore | PermitExpirableSemaphore =>
  isEnding(name) ? locks.getPermitExpirableSemaphore(name) : locks.getSemaphore(name)

/** Free permits without an end, and the word of the Redis that is not under test. */
export const poolsAtRest = (
  locks: LockClient,
  register: Register,
  names: readonly string[],
): Promise<PoolAtRest[]> =>
  Promise.all(
    names
      .filter((name) => !isEnding(name))
      .map(async (name) => ({
        name,
        free: await locks.getSemaphore(name).availablePermits(),
        inUse: await register.inUse(name),
      })),
  )

/** Permits that end are all back, a lease later at the latest. @returns what is not */
export const checkEnding = async (
  locks: LockClient,
  names: readonly string[],
  { permits, held = 0, leaseMs }: { permits: number; held?: number; leaseMs: number },
): Promise<string[]> => {
  const look = async (): Promise<string[]> => {
    const found = names.filter(isEnding).map(async (name) => {
      const semaphore = locks.getPermitExpirableSemaphore(name)
      const [free, taken] = [await semaphore.availablePermits(), await semaphore.acquiredPermits()]
      return free === permits - held && taken === held
        ? []
        : [`I2 ${name}: ${free} of ${permits} permits are free and ${taken} held at rest, not ${held}`]
    })
    return (await Promise.all(found)).flat()
  }
  const endsAt = performance.now() + leaseMs + SLACK_MS
  let found = await look()
  while (found.length > 0 && performance.now() < endsAt) {
    await sleep(20)
    found = await look()
  }
  return found
}

/**
 * Everybody holds permits and nothing is on its way. Half of the processes are killed: of permits without an end
 * exactly theirs are lost, those that end are all back after a lease at the latest, but for what the living renew.
 */
export const killHolders = async (
  { fleet, observer, replace, leaseMs }: Victim,
  names: readonly string[],
): Promise<{ killed: number; backMs: number; violations: string[] }> => {
  const count = fleet.workers.length
  const permits = HELD_BY_EACH * count
  const dying = fleet.workers.slice(0, Math.floor(count / 2))
  const violations: string[] = []
  const expectFree = async (expected: number, when: string): Promise<void> => {
    for (const name of names.filter((each) => !isEnding(each))) {
      const found = await observer.getSemaphore(name).availablePermits()
      if (found !== expected)
        violations.push(`I2 ${name}: ${found} permits are free ${when}, not ${expected}`)
    }
  }
  for (const name of names) await semaphoreNamed(observer, name).trySetPermits(permits)
  await fleet.callAll('hold', { names, permits: HELD_BY_EACH, leaseMs })
  for (const worker of dying) await replace(worker)
  const killedAt = performance.now()
  await expectFree(0, 'after the kills')
  violations.push(...(await checkEnding(observer, names, { permits, held: count - dying.length, leaseMs })))
  const backMs = performance.now() - killedAt
  await fleet.callAll('release')
  await expectFree(permits - HELD_BY_EACH * dying.length, 'when the living released theirs')
  violations.push(...(await checkEnding(observer, names, { permits, leaseMs: 0 })))
  return { killed: dying.length, backMs, violations }
}

export interface Holding {
  readonly names: readonly string[]
  readonly permits: number
  readonly leaseMs: number
}

/** The part of one process: it takes permits and keeps them until it is told to release them, or killed. */
export class Holder {
  #held: (() => Promise<void>)[] = []

  constructor(
    private readonly locks: LockClient,
    private readonly history: SemaphoreHistory,
    private readonly name: string,
  ) {}

  /** One of the permits that end is renewed, and the others have a lease. */
  async hold({ names, permits, leaseMs }: Holding): Promise<void> {
    for (const name of names) {
      if (isEnding(name)) {
        for (let i = 0; i < permits; i += 1)
          await this.#ending(name, i, i === 0 ? { renew: true } : { leaseMs })
      } else await this.#endless(name, permits)
    }
  }

  async release(): Promise<void> {
    await Promise.all(this.#held.map((give) => give()))
    this.#held = []
  }

  async #endless(name: string, permits: number): Promise<void> {
    const take = this.#begin(name, permits, 0)
    const semaphore = this.locks.getSemaphore(name)
    await semaphore.acquire(permits)
    take.taken()
    this.#held.push(() => take.release(() => semaphore.release(permits)))
  }

  async #ending(name: string, nth: number, terms: { renew: true } | { leaseMs: number }): Promise<void> {
    const take = this.#begin(name, 1, nth)
    const permit = await this.locks.getPermitExpirableSemaphore(name).acquirePermit(terms)
    take.watch(permit)
    if ('leaseMs' in terms) return
    this.#held.push(() => {
      take.trust(permit)
      return take.release(() => permit.release())
    })
  }

  #begin(name: string, permits: number, nth: number): Take {
    return new Take(this.history, { name, use: `${this.name}/held/${name}#${nth}`, permits, waitMs: 0 })
  }
}
