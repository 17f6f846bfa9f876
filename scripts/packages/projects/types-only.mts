import * as core from '@holdfast/core'
import { type AcquireOptions, type Hold, type Lock, LockClient, LockLostError } from '@holdfast/core'
import { Locked, type LockedOptions } from '@holdfast/core/decorators'
import { expressLocks, fastifyLocks, honoLocks, koaLocks, lockHttpError } from '@holdfast/core/http'
import { exclusive, type TickOutcome } from '@holdfast/core/schedule'
import { getShare } from '@holdfast/core/share'
import { adopt, handOver, HandoverGoneError } from '@holdfast/core/travel'
import { LockClient as Short } from 'holdfast'
import { type LeaseStore, type RenewableLease, Watchdog } from '@holdfast/watchdog'
import { Waiter, type WakeSource } from '@holdfast/waiter'

export const same: typeof LockClient = Short
export const lockOf = async (url: string): Promise<Lock> => (await LockClient.connect(url)).getLock('x')
export const inside = (lock: Lock, options: AcquireOptions): Promise<string> =>
  lock.withLock((hold: Hold) => hold.owner, options)
export const onward = async (locks: LockClient, hold: Hold): Promise<Hold> =>
  adopt(locks, await handOver(hold, { keepMs: 1 }))
export const isGone = (error: unknown): error is HandoverGoneError => error instanceof HandoverGoneError
export const isLost = (error: unknown): error is LockLostError => error instanceof LockLostError
export const watchdogOn = (store: LeaseStore<RenewableLease>): Watchdog<RenewableLease> =>
  new Watchdog(store, {
    clock: { now: () => 0, wallNow: () => 0, setTimer: () => ({ cancel: () => undefined }) },
    random: () => 0,
  })
export const waiterOn = (source: WakeSource): Waiter =>
  new Waiter(source, {
    clock: { now: () => 0, setTimer: () => ({ cancel: () => undefined }) },
    random: () => 0,
  })

// @ts-expect-error -- locks come from a client; nobody makes one
export const forgedLock = (): unknown => new core.Lock()
// @ts-expect-error -- holds come from a lock
export const forgedHold = (): unknown => new core.Hold()

export class Decorated {
  @Locked({ name: '{0}' })
  async pay(id: string): Promise<string> {
    return id
  }
  // @ts-expect-error -- under a lock nothing answers at once
  @Locked()
  sync(): number {
    return 1
  }
}
export const options: LockedOptions<[string]> = { name: (id) => id }
export const middleware = (locks: LockClient): unknown => koaLocks(locks, { errors: {} })
// Declared in what a user publishes: every name in these types can be written, or is not needed.
export const middlewares = (locks: LockClient) => [expressLocks(locks), fastifyLocks(locks), honoLocks(locks)]
export const leaseOf = (error: LockLostError) => error.lease
export const tick = (locks: LockClient) => exclusive('tick', { locks }, () => 1)
export const shared = (locks: LockClient) => getShare(locks, 'x')
export const answer = (error: unknown): unknown => lockHttpError(error)
export const nightly = (locks: LockClient): Promise<TickOutcome<Date>> =>
  exclusive('nightly', { locks }, ({ tick }) => tick)()
