import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { countedOnce, numbers, numberFrom } from '../redis/shapes.js'
import { announcing, onCounter, wasDone, type CounterArguments, type AnnouncedArguments } from './counter.js'

export const acquirePermitsScript = defineScript('semaphore/acquire', numbers(2, countedOnce))

export interface AcquirePermitsArguments extends CounterArguments {
  readonly permits: number
}

/** `over`: the operation was cancelled, or its client has had its answer. `isMissing`: there is no such semaphore. */
export type AcquirePermitsReply =
  | { readonly kind: 'taken'; readonly left: number }
  | { readonly kind: 'refused'; readonly left: number; readonly isMissing: boolean }
  | { readonly kind: 'over' }

export function acquirePermits(
  runner: ScriptRunner,
  given: AcquirePermitsArguments,
): Promise<AcquirePermitsReply> {
  const call = onCounter(given, `${given.permits}`)
  return runner.run({ script: acquirePermitsScript, ...call, parse: parseAcquired, granted: taken })
}

/** See `ScriptCall.granted`; of both kinds of semaphore. */
export function taken<R extends { readonly kind: string }>(reply: R): R | undefined {
  return reply.kind === 'taken' ? reply : undefined
}

function parseAcquired(reply: unknown): AcquirePermitsReply {
  const [outcome, left = 0, exists = 1] = (reply as unknown[]).map(Number)
  if (outcome === 1) {
    return { kind: 'taken', left }
  }
  return outcome === 0 ? { kind: 'refused', left, isMissing: exists === 0 } : { kind: 'over' }
}

export const releasePermitsScript = defineScript('semaphore/release', countedOnce)

export interface ReleasePermitsArguments extends AnnouncedArguments {
  readonly permits: number
  readonly onlyIfExists: boolean
}

/** False: there is no semaphore, and none was made. */
export function releasePermits(runner: ScriptRunner, given: ReleasePermitsArguments): Promise<boolean> {
  const { permits, onlyIfExists } = given
  const call = onCounter(given, `${permits}`, onlyIfExists ? '1' : '0', ...announcing(runner, given))
  return runner.run({ script: releasePermitsScript, ...call, parse: wasDone })
}

export const addPermitsScript = defineScript('semaphore/add', countedOnce)

export interface AddPermitsArguments extends AnnouncedArguments {
  /** May be negative. */
  readonly permits: number
  /** The records of its permits keep the same time to live. Otherwise it is removed, as Redisson does. */
  readonly keepsTtl: boolean
}

export function addPermits(runner: ScriptRunner, given: AddPermitsArguments): Promise<void> {
  const { permits, keepsTtl } = given
  const call = onCounter(given, `${permits}`, ...announcing(runner, given), keepsTtl ? '1' : '0')
  return runner.run({ script: addPermitsScript, ...call, parse: () => undefined })
}

export const drainScript = defineScript('semaphore/drain', numberFrom(-1))

/** How many permits were taken. */
export function drain(runner: ScriptRunner, given: CounterArguments): Promise<number> {
  return runner.run({ script: drainScript, ...onCounter(given), parse: atLeastNone })
}

/** Parses a count, or -1 where the operation is over. */
export function atLeastNone(reply: unknown): number {
  return Math.max(0, Number(reply))
}
