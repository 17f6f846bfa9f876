import {
  keptResultKey,
  noteKey,
  runResultKey,
  tombstonePrefix,
  type Announcement,
  type ScriptCall,
  type ScriptRunner,
  defineEntryScript,
  facts,
  isScalar,
  numberFrom,
  granted,
  type AcquireReply,
  type ReleaseReply,
  wantedNote,
  type NoteRequest,
  argvOfStamp,
  type CommandStamp,
} from '../door.js'
import { shareSources } from './lua-sources.js'

/** A result as Redis has it: a letter for its kind, and a text. See `finish.lua`. */
export type StoredKind = 'v' | 'e' | 'n'

export interface StoredResult {
  /** `v`: of a run that succeeded; `e`: the error of one that failed; `n`: nothing was run. */
  readonly kind: StoredKind
  readonly text: string
}

/** A result that was found, and how old it is by the clock of Redis. */
export interface FoundResult extends StoredResult {
  readonly ageMs: number
}

/** A result that may be served while a newer one is made. */
export interface OlderResult extends FoundResult {
  /** For so long, ms. */
  readonly leftMs: number
}

/** The state of a share that a caller finds in Redis. */
export type Found =
  /** It runs. */
  | { readonly kind: 'begun'; readonly older: OlderResult | undefined }
  | { readonly kind: 'kept'; readonly result: FoundResult }
  /** The owner of the run that it waits for. */
  | {
      readonly kind: 'awaited'
      readonly result: FoundResult
      /** `invalidate` was called since that run began. */
      readonly isOutdated: boolean
    }
  /** The run that it waits for has ended, and left no result. */
  | { readonly kind: 'crashed' }
  | {
      readonly kind: 'under-way'
      readonly owner: string
      readonly leaseLeftMs: number
      /** `invalidate` was called since the run began. */
      readonly isOutdated: boolean
      readonly older: OlderResult | undefined
    }
  /** The command was a late copy. */
  | { readonly kind: 'superseded' }

interface ShareArguments {
  readonly lockName: string
  readonly key: string
}

interface RunArguments extends ShareArguments {
  readonly owner: string
  readonly stamp: CommandStamp
}

export const enterScript = defineEntryScript(shareSources, 'share/enter', facts(1))

export interface EnterArguments extends RunArguments {
  readonly leaseMs: number
  readonly note: NoteRequest | undefined
  /** How old a kept result may be, ms. */
  readonly freshMs: number
  /** How old a result may be that is served while a run is under way, ms. */
  readonly usableMs: number
  /** The owner of the run that the caller waits for. */
  readonly awaited: string | undefined
  /** Whether the end of that run without a result ends the wait. */
  readonly failsOnCrash: boolean
}

/** To the entry of the owner it is an acquire: `acquired` or not. */
export type EnterReply = AcquireReply & { readonly found: Found }

export function enterCall(given: EnterArguments): ScriptCall<EnterReply> {
  const { lockName, key, owner, leaseMs, stamp, note, awaited } = given
  const keys = [key, tombstonePrefix(key) + owner, noteKey(key), keptResultKey(key)]
  if (awaited !== undefined) {
    keys.push(runResultKey(key, awaited))
  }
  const args = [
    owner,
    `${leaseMs}`,
    ...argvOfStamp(stamp),
    note ? wantedNote(note) : '',
    `${given.freshMs}`,
    `${given.usableMs}`,
    awaited ?? '',
    given.failsOnCrash ? '1' : '0',
    `${RESULT_LIFE_MS}`,
  ]
  return { script: enterScript, keys, args, parse: parseEntered, granted, lockName }
}

const NOBODY = { kind: 'held', ttlMs: -2, holder: '', holds: 0 } as const

function parseEntered(reply: unknown): EnterReply {
  const [kind, ...rest] = reply as unknown[]
  switch (Number(kind)) {
    case 1:
      return { kind: 'acquired', found: { kind: 'begun', older: olderIn(rest) } }
    case 2:
      return { ...NOBODY, found: { kind: 'kept', result: resultIn(rest) } }
    case 3:
      return {
        ...NOBODY,
        found: { kind: 'awaited', result: resultIn(rest), isOutdated: Number(rest[2]) === 1 },
      }
    case 4:
      return { ...NOBODY, found: { kind: 'crashed' } }
    case 5:
      return underWay(rest)
    default:
      return { kind: 'superseded', found: { kind: 'superseded' } }
  }
}

function underWay([ttl, holder, isOutdated, ...rest]: readonly unknown[]): EnterReply {
  const [leaseLeftMs, owner] = [Number(ttl), String(holder)]
  const older = olderIn(rest)
  return {
    kind: 'held',
    ttlMs: leaseLeftMs,
    holder: owner,
    holds: 1,
    found: { kind: 'under-way', owner, leaseLeftMs, isOutdated: Number(isOutdated) === 1, older },
  }
}

/** `<ms of Redis> <kind><text>`. */
function resultIn([now, stored]: readonly unknown[]): FoundResult {
  const text = String(stored)
  const begin = text.indexOf(' ') + 1
  // The clock of Redis may have been set back.
  const ageMs = Math.max(0, Number(now) - Number(text.slice(0, begin)))
  return { kind: text.charAt(begin) as StoredKind, text: text.slice(begin + 1), ageMs }
}

function olderIn(rest: readonly unknown[]): OlderResult | undefined {
  return rest.length < 3 ? undefined : { ...resultIn(rest), leftMs: Number(rest[2]) }
}

export const finishScript = defineEntryScript(shareSources, 'share/finish', numberFrom(0, 2))

export interface FinishArguments extends RunArguments {
  readonly stored: StoredResult
  /** How long a result counts as fresh, ms. */
  readonly freshMs: number
  /** How long it is kept, ms; 0: only for the callers of this run. */
  readonly usableMs: number
  readonly channel: string
  readonly announcement: Announcement
}

/** How long the callers of a run may fetch its result, ms: after a reconnect, say. */
export const RESULT_LIFE_MS = 5_000

/** To the entry of the owner it is a release. `isOutdated`: `invalidate` was called since the run began. */
export type FinishReply = ReleaseReply & { readonly isOutdated: boolean }

export function finishCall(given: FinishArguments): ScriptCall<FinishReply> {
  const { lockName, key, owner, stamp, stored, channel, announcement } = given
  const keys = [key, tombstonePrefix(key) + owner, noteKey(key), keptResultKey(key), runResultKey(key, owner)]
  const args = [
    owner,
    ...argvOfStamp(stamp),
    stored.kind + stored.text,
    `${RESULT_LIFE_MS}`,
    `${given.freshMs}`,
    `${given.usableMs}`,
    channel,
    announcement,
  ]
  return { script: finishScript, keys, args, parse: parseFinished, lockName }
}

function parseFinished(reply: unknown): FinishReply {
  return { kind: Number(reply) === 0 ? 'not-held' : 'released', isOutdated: Number(reply) === 2 }
}

export const invalidateScript = defineEntryScript(shareSources, 'share/invalidate', isScalar)

/** 24 days: a run that takes longer would be kept although it was invalidated. */
const LONGEST_RUN_MS = '2147483647'

/** @returns the owner of the run that this made outdated; '': there is none, or it was outdated before */
export function sendInvalidate(runner: ScriptRunner, { lockName, key }: ShareArguments): Promise<string> {
  const keys = [key, keptResultKey(key)]
  const args = [LONGEST_RUN_MS, `${RESULT_LIFE_MS}`]
  return runner.run({ script: invalidateScript, keys, args, parse: String, lockName })
}
