import { setTimeout as sleep } from 'node:timers/promises'
import type { LockClient } from '@holdfast/core'
import type { Victim } from '../../workload/faults.js'
import type { ObservedClient } from '../../workload/observed-client.js'
import type { PoolAtRest } from './checks.js'
import { kindOf, namesFor, semaphoreNamed, type SemaphoreKind } from './names.js'
import type { PermitsInUse } from './permits-in-use.js'
import { Take } from './take.js'

const SLACK_MS = 1_000
const HELD_BY_EACH = 2

/** What is free of permits without an end, and what the Redis that is not under test says. */
export const poolsAtRest = (
  locks: LockClient,
  inUse: PermitsInUse,
  names: readonly string[],
): Promise<PoolAtRest[]> =>
  Promise.all(
    names
      .filter((name) => kindOf(name) === 'semaphore')
      .map(async (name) => ({
        name,
        free: await locks.getSemaphore(name).availablePermits(),
        inUse: await inUse.count(name),
      })),
  )

interface ExpirableAtRest {
  readonly name: string
  readonly free: number
  readonly held: number
}

/** Permits that end, a lease later at the latest, or as soon as all are free. */
export const expirableAtRest = async (
  locks: LockClient,
  names: readonly string[],
  { permits, leaseMs }: { readonly permits: number; readonly leaseMs: number },
): Promise<ExpirableAtRest[]> => {
  const look = (): Promise<ExpirableAtRest[]> =>
    Promise.all(
      names
        .filter((name) => kindOf(name) === 'permits')
        .map(async (name) => {
          const semaphore = locks.getPermitExpirableSemaphore(name)
          return {
            name,
            free: await semaphore.availablePermits(),
            held: await semaphore.acquiredPermits(),
          }
        }),
    )
  const endsAt = performance.now() + leaseMs + SLACK_MS
  let found = await look()
  while (found.some(({ free }) => free !== permits) && performance.now() < endsAt) {
    await sleep(20)
    found = await look()
  }
  return found
}

/** Of permits that end: all are back. */
export const checkExpirable = (atRest: readonly ExpirableAtRest[], permits: number): string[] =>
  atRest
    .filter(({ free, held }) => free !== permits || held !== 0)
    .map(
      ({ name, free, held }) =>
        `I2 ${name}: ${free} of ${permits} permits are free and ${held} held, at rest`,
    )

export interface Deaths {
  readonly killed: number
  readonly held: number
  readonly lost: number
  readonly backMs: number
  readonly violations: readonly string[]
}

/**
 * Everybody holds permits and nothing is on its way. Half of the processes are killed: of permits without an end
 * exactly theirs are lost, those that end are all back after a lease at the latest, also what a watchdog renewed.
 */
export const killHolders = async (
  { fleet, observer, replace, leaseMs }: Victim,
  kinds: readonly SemaphoreKind[],
): Promise<Deaths> => {
  const count = fleet.workers.length
  const permits = HELD_BY_EACH * count
  const names = namesFor('deaths', kinds, 1)
  for (const name of names) await semaphoreNamed(observer, name).trySetPermits(permits)
  const pool = names.find((name) => kindOf(name) === 'semaphore')
  const expirable = names.find((name) => kindOf(name) === 'permits')
  const violations: string[] = []
  const free = (): Promise<number> =>
    pool === undefined ? Promise.resolve(permits) : observer.getSemaphore(pool).availablePermits()
  const expectFree = async (expected: number, when: string): Promise<void> => {
    if (pool === undefined) return
    const found = await free()
    if (found !== expected) violations.push(`I2 ${pool}: ${found} permits are free ${when}, not ${expected}`)
  }

  await fleet.callAll('hold', { pool, expirable, permits: HELD_BY_EACH, leaseMs })
  const dying = fleet.workers.slice(0, Math.floor(count / 2))
  let killedAt = performance.now()
  for (const worker of dying) {
    killedAt = performance.now()
    await replace(worker)
  }
  await expectFree(0, 'after the kills')
  // The living renew one each of those that end, and the rest comes back.
  const living = count - dying.length
  const expirables = expirable === undefined ? [] : [expirable]
  const rest = { permits: permits - living, leaseMs }
  for (const { name, free: back } of await expirableAtRest(observer, expirables, rest))
    if (back !== rest.permits)
      violations.push(`I2 ${name}: ${back} permits are free a lease after the kills, not ${rest.permits}`)
  const backMs = performance.now() - killedAt
  await fleet.callAll('giveBack')
  const held = pool === undefined ? 0 : HELD_BY_EACH * dying.length
  await expectFree(permits - held, 'when the living gave theirs back')
  const lost = permits - (await free())
  for (const { name, free: back } of await expirableAtRest(observer, expirables, { permits, leaseMs: 0 }))
    if (back !== permits) violations.push(`I2 ${name}: ${back} of ${permits} permits came back`)
  return { killed: dying.length, held, lost, backMs, violations }
}

export interface Hold {
  readonly pool?: string
  readonly expirable?: string
  readonly permits: number
  readonly leaseMs: number
}

/** The part of one process: it takes permits and keeps them until it is told to give them back, or killed. */
export class Holder {
  readonly #client: ObservedClient
  readonly #name: string
  #held: (() => Promise<void>)[] = []
  #uses = 0

  constructor(client: ObservedClient, name: string) {
    this.#client = client
    this.#name = name
  }

  /** Of the permits that end one is renewed, and the others have a lease. */
  async hold({ pool, expirable, permits, leaseMs }: Hold): Promise<void> {
    const { locks } = this.#client
    if (pool !== undefined) {
      const take = this.#begin(pool, permits)
      const semaphore = locks.getSemaphore(pool)
      await semaphore.acquire(permits)
      take.taken()
      this.#held.push(() => take.giveBack(() => semaphore.release(permits)))
    }
    for (let i = 0; expirable !== undefined && i < permits; i += 1) {
      const take = this.#begin(expirable, 1)
      const terms = i === 0 ? { renew: true } : { leaseMs }
      const permit = await locks.getPermitExpirableSemaphore(expirable).acquirePermit(terms)
      take.watch(permit)
      if (i > 0) continue
      this.#held.push(() => {
        take.trust(permit)
        return take.giveBack(() => permit.release())
      })
    }
  }

  async giveBack(): Promise<void> {
    await Promise.all(this.#held.map((give) => give()))
    this.#held = []
  }

  #begin(name: string, permits: number): Take {
    this.#uses += 1
    return new Take(this.#client.history, {
      name,
      use: `${this.#name}/held#${this.#uses}`,
      permits,
      waitMs: 0,
    })
  }
}
