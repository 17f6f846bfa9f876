import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { countedOnce, numbers, numberFrom } from '../redis/shapes.js'
import { keysOf, stampOf, wasDone, type CounterCommand, type AnnouncedCommand } from './counter.js'

export const acquirePermitsScript = defineScript('semaphore/acquire', numbers(2, countedOnce))

export interface AcquirePermitsCommand extends CounterCommand {
  readonly permits: number
}

/** `over`: the operation was cancelled, or its client has had its answer. `isMissing`: there is no such semaphore. */
export type AcquirePermitsReply =
  | { readonly kind: 'taken'; readonly left: number }
  | { readonly kind: 'refused'; readonly left: number; readonly isMissing: boolean }
  | { readonly kind: 'over' }

export function acquirePermits(
  runner: ScriptRunner,
  command: AcquirePermitsCommand,
): Promise<AcquirePermitsReply> {
  const { lockName, permits } = command
  const args = [...stampOf(command), `${permits}`]
  const keys = keysOf(command)
  return runner.run({
    script: acquirePermitsScript,
    keys,
    args,
    parse: parseAcquired,
    granted: taken,
    lockName,
  })
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

export interface ReleasePermitsCommand extends AnnouncedCommand {
  readonly permits: number
  readonly onlyIfExists: boolean
}

/** False: there is no semaphore, and none was made. */
export function releasePermits(runner: ScriptRunner, command: ReleasePermitsCommand): Promise<boolean> {
  const { lockName, permits, onlyIfExists, channel } = command
  const args = [
    ...stampOf(command),
    `${permits}`,
    onlyIfExists ? '1' : '0',
    channel,
    runner.announcementOn(channel),
  ]
  return runner.run({
    script: releasePermitsScript,
    keys: keysOf(command),
    args,
    parse: wasDone,
    lockName,
  })
}

export const addPermitsScript = defineScript('semaphore/add', countedOnce)

export interface AddPermitsCommand extends AnnouncedCommand {
  /** May be negative. */
  readonly permits: number
  /** The records of its permits keep the same time to live. Otherwise it is removed, as Redisson does. */
  readonly keepsTtl: boolean
}

export function addPermits(runner: ScriptRunner, command: AddPermitsCommand): Promise<void> {
  const { lockName, permits, channel, keepsTtl } = command
  const announcement = [channel, runner.announcementOn(channel)]
  const args = [...stampOf(command), `${permits}`, ...announcement, keepsTtl ? '1' : '0']
  return runner.run({
    script: addPermitsScript,
    keys: keysOf(command),
    args,
    parse: () => undefined,
    lockName,
  })
}

export const drainScript = defineScript('semaphore/drain', numberFrom(-1))

/** How many permits were taken. */
export function drain(runner: ScriptRunner, command: CounterCommand): Promise<number> {
  const { lockName } = command
  return runner.run({
    script: drainScript,
    keys: keysOf(command),
    args: stampOf(command),
    parse: parseDrained,
    lockName,
  })
}

function parseDrained(reply: unknown): number {
  return Math.max(0, Number(reply))
}
