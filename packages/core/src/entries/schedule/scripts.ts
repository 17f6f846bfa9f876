import {
  type ScriptRunner,
  defineEntryScript,
  numberFrom,
  numbers,
  pairsIn,
  yesOrNo,
  parts,
  texts,
  wasDone,
} from '../door.js'
import { scheduleSources } from './lua-sources.js'

/** One schedule: the lock of its name, and its ticks in the same slot. */
export interface ScheduleArguments {
  readonly lockName: string
  readonly key: string
  readonly ticksKey: string
}

/** 400 days from the last change: a yearly schedule still finds its last run, a retired one leaves nothing. */
const TICKS_TTL_MS = '34560000000'
/** The oldest make room. */
const TICKS_KEPT = '100'

export const beginScript = defineEntryScript(scheduleSources, 'schedule/begin', numbers(1, numberFrom(1, 7)))

export interface BeginArguments extends ScheduleArguments {
  readonly owner: string
  /** undefined: one by the clock of Redis. */
  readonly tick: number | undefined
  readonly atLeastForMs: number
  /** Nearer to the latest tick of another client, or to its beginning: to be told of. */
  readonly near: { readonly tickMs: number; readonly beginMs: number }
}

export type BeginReply =
  /** `missed`: earlier ticks that were not run or not finished. */
  | {
      readonly kind: 'begun'
      readonly tick: number
      readonly missed: readonly number[]
      /** So near to one of another client. */
      readonly apartMs?: number
    }
  | { readonly kind: 'too-soon'; readonly leftMs: number }
  | { readonly kind: 'done' | 'late' | 'lost' }
  /** Further ahead of the clock of Redis than a tick may be. */
  | { readonly kind: 'too-far-ahead'; readonly now: number }

export function begin(runner: ScriptRunner, given: BeginArguments): Promise<BeginReply> {
  const { lockName, key, ticksKey, owner, tick, atLeastForMs, near } = given
  const least = [`${near.tickMs}`, `${near.beginMs}`]
  const args = [owner, `${tick ?? ''}`, `${atLeastForMs}`, TICKS_TTL_MS, TICKS_KEPT, ...least]
  return runner.run({ script: beginScript, keys: [key, ticksKey], args, parse: parseBegun, lockName })
}

function parseBegun(reply: unknown): BeginReply {
  const [kind, first, ...others] = (reply as unknown[]).map(Number)
  switch (Number(kind)) {
    case 1:
      return { kind: 'begun', tick: first as number, missed: others.sort((a, b) => a - b) }
    case 2:
      return { kind: 'done' }
    case 3:
      return { kind: 'late' }
    case 4:
      return { kind: 'too-soon', leftMs: first as number }
    case 6:
      return { kind: 'too-far-ahead', now: first as number }
    case 7: {
      const [tick = 0, ...missed] = others
      return { kind: 'begun', tick, missed: missed.sort((a, b) => a - b), apartMs: first as number }
    }
    default:
      return { kind: 'lost' }
  }
}

export const finishScript = defineEntryScript(scheduleSources, 'schedule/finish', yesOrNo)

export interface FinishArguments extends ScheduleArguments {
  readonly owner: string
  /** `done` is noted as `lost` where the owner has no lock any more. */
  readonly state: 'done' | 'failed' | 'lost'
  /** '' for none. */
  readonly error: string
}

/** False: this owner runs none. */
export function finish(runner: ScriptRunner, given: FinishArguments): Promise<boolean> {
  const { lockName, key, ticksKey, owner, state, error } = given
  const args = [owner, state, error, TICKS_TTL_MS, TICKS_KEPT]
  return runner.run({ script: finishScript, keys: [key, ticksKey], args, parse: wasDone, lockName })
}

export const missScript = defineEntryScript(scheduleSources, 'schedule/miss', yesOrNo)

/** False: the tick is known of already. */
export function miss(
  runner: ScriptRunner,
  given: ScheduleArguments & { readonly tick: number },
): Promise<boolean> {
  const { lockName, ticksKey, tick } = given
  const args = [`${tick}`, TICKS_TTL_MS, TICKS_KEPT]
  return runner.run({ script: missScript, keys: [ticksKey], args, parse: wasDone, lockName })
}

export const readScript = defineEntryScript(scheduleSources, 'schedule/read', parts(texts, texts))

/** A tick as Redis keeps it; times in ms of its clock. */
export interface KeptTick {
  readonly state: 'running' | 'done' | 'failed' | 'lost' | 'unfinished' | 'missed'
  readonly from: string
  readonly to?: string
  readonly owner?: string
  readonly error?: string
}

export interface ReadReply {
  readonly owners: readonly string[]
  /** The earliest first. */
  readonly ticks: readonly (readonly [tick: number, kept: KeptTick])[]
}

export function read(
  runner: ScriptRunner,
  { lockName, key, ticksKey }: ScheduleArguments,
): Promise<ReadReply> {
  return runner.run({ script: readScript, keys: [key, ticksKey], args: [], parse: parseTicks, lockName })
}

function parseTicks(reply: unknown): ReadReply {
  const [owners, pairs] = reply as [string[], string[]]
  const ticks = pairsIn(pairs).map(([tick, kept]) => [Number(tick), JSON.parse(kept) as KeptTick] as const)
  return { owners, ticks: ticks.sort(([a], [b]) => a - b) }
}
