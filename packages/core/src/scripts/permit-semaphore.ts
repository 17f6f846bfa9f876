import type { ScriptCall } from '../redis/script-call.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { countedOnce, numbers, numberFrom, count, anyNumber } from '../redis/shapes.js'
import { announcing, stampOf, wasDone, type AnnouncedArguments } from './counter.js'
import { atLeastNone, taken } from './semaphore.js'

/** The arguments of every script that changes a permit-expirable semaphore. */
export interface PermitArguments extends AnnouncedArguments {
  readonly timeoutsKey: string
}

/** KEYS and ARGV of each of them: what all are given comes first. */
function onPermits(
  runner: ScriptRunner,
  given: PermitArguments,
  args: readonly string[],
): Pick<ScriptCall, 'lockName' | 'keys' | 'args'> {
  const { lockName, key, timeoutsKey, stamp } = given
  const keys = [key, timeoutsKey, stamp.key]
  return { lockName, keys, args: [...stampOf(stamp), ...announcing(runner, given), ...args] }
}

export const setPermitsScript = defineScript('permit-semaphore/set', countedOnce)

export interface SetPermitsArguments extends PermitArguments {
  readonly permits: number
}

export function setPermits(runner: ScriptRunner, given: SetPermitsArguments): Promise<void> {
  return runner.run({
    script: setPermitsScript,
    ...onPermits(runner, given, [`${given.permits}`]),
    parse: () => undefined,
  })
}

export const acquireExpirableScript = defineScript('permit-semaphore/acquire', numbers(4, countedOnce))

export interface AcquireExpirableArguments extends PermitArguments {
  /** One for each permit. */
  readonly ids: readonly string[]
  /** undefined: no end. */
  readonly leaseMs: number | undefined
}

export interface AcquireExpirableReply {
  readonly kind: 'taken' | 'refused' | 'over'
  readonly left: number
  /** When the first permit ends, ms; -1: none does. */
  readonly endsInMs: number
  /** When the whole semaphore ends, and with it every permit, ms; Infinity: never. */
  readonly semaphoreEndsInMs: number
  /** There is no such semaphore. */
  readonly isMissing: boolean
}

export function acquireExpirable(
  runner: ScriptRunner,
  given: AcquireExpirableArguments,
): Promise<AcquireExpirableReply> {
  const { ids, leaseMs = 0 } = given
  return runner.run({
    script: acquireExpirableScript,
    ...onPermits(runner, given, [`${leaseMs}`, ...ids]),
    parse: parseAcquired,
    granted: taken,
  })
}

function parseAcquired(reply: unknown): AcquireExpirableReply {
  const [outcome, left = 0, endsInMs = -1, semaphoreTtlMs = -1] = (reply as unknown[]).map(Number)
  const kind = outcome === 1 ? 'taken' : outcome === 0 ? 'refused' : 'over'
  const semaphoreEndsInMs = semaphoreTtlMs < 0 ? Infinity : semaphoreTtlMs
  return { kind, left, endsInMs, semaphoreEndsInMs, isMissing: semaphoreTtlMs === -2 }
}

export const releaseExpirableScript = defineScript('permit-semaphore/release', numberFrom(-1))

export interface ReleaseExpirableArguments extends PermitArguments {
  readonly ids: readonly string[]
}

/** How many were released: all, or none where one of them has ended or is not known. */
export function releaseExpirable(runner: ScriptRunner, given: ReleaseExpirableArguments): Promise<number> {
  return runner.run({
    script: releaseExpirableScript,
    ...onPermits(runner, given, given.ids),
    parse: atLeastNone,
  })
}

export const updateLeaseScript = defineScript('permit-semaphore/update-lease', countedOnce)

export interface UpdateLeaseArguments extends PermitArguments {
  readonly id: string
  readonly leaseMs: number
}

/** False: there is no such permit any more. */
export function updateLease(runner: ScriptRunner, given: UpdateLeaseArguments): Promise<boolean> {
  const args = [`${given.leaseMs}`, given.id]
  return runner.run({
    script: updateLeaseScript,
    ...onPermits(runner, given, args),
    parse: wasDone,
    granted: (isHeld) => isHeld || undefined,
  })
}

export const renewPermitScript = defineScript('permit-semaphore/renew', count)

export interface RenewPermitArguments {
  readonly lockName: string
  readonly timeoutsKey: string
  readonly id: string
  /** 0: only asks. */
  readonly leaseMs: number
  readonly timeoutMs: number
}

/** Ms until it ends; 0: it has ended, or was released. */
export function renewPermit(runner: ScriptRunner, given: RenewPermitArguments): Promise<number> {
  const { lockName, timeoutsKey, id, leaseMs, timeoutMs } = given
  const [keys, args] = [[timeoutsKey], [`${leaseMs}`, id]]
  return runner.run({
    script: renewPermitScript,
    keys,
    args,
    parse: Number,
    granted: stillHeld,
    lockName,
    timeoutMs,
  })
}

function stillHeld(leftMs: number): number | undefined {
  return leftMs > 0 ? leftMs : undefined
}

export const cancelExpirableScript = defineScript('permit-semaphore/cancel', anyNumber)

export interface CancelExpirableArguments extends PermitArguments {
  readonly ids: readonly string[]
}

/** How many permits went back. */
export function cancelExpirable(runner: ScriptRunner, given: CancelExpirableArguments): Promise<number> {
  return runner.run({
    script: cancelExpirableScript,
    ...onPermits(runner, given, given.ids),
    parse: Number,
  })
}

export const countPermitsScript = defineScript('permit-semaphore/count', numbers(2))

export interface PermitCounts {
  readonly free: number
  readonly held: number
}

export function countPermits(
  runner: ScriptRunner,
  given: Omit<PermitArguments, 'stamp'>,
): Promise<PermitCounts> {
  const { lockName, key, timeoutsKey } = given
  return runner.run({
    script: countPermitsScript,
    keys: [key, timeoutsKey],
    args: announcing(runner, given),
    parse: parseCounts,
    lockName,
  })
}

function parseCounts(reply: unknown): PermitCounts {
  const [free = 0, held = 0] = (reply as unknown[]).map(Number)
  return { free, held }
}
