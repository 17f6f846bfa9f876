import {
  noteKey,
  tokenKey,
  tombstonePrefix,
  type TokenRule,
  type ScriptRunner,
  defineEntryScript,
  either,
  facts,
  isToken,
  numberFrom,
  parts,
  yesOrNo,
  wantedNote,
  type NoteRequest,
  granted,
  parseAcquired,
  type AcquireReply,
  REPLAY_GUARD_TTL_MS,
  argvOfStamp,
  type CommandStamp,
  wasDone,
} from '../door.js'
import { travelSources } from './lua-sources.js'

interface TravelArguments {
  readonly lockName: string
  readonly key: string
  /** The old owner, or the new one. */
  readonly owner: string
  /** The name that stands for the token. */
  readonly traveller: string
  readonly stamp: CommandStamp
}

export const handOverScript = defineEntryScript(travelSources, 'travel/hand-over', yesOrNo)

export interface HandOverArguments extends TravelArguments {
  readonly keepMs: number
  /** The hold may have a note. */
  readonly isNoted: boolean
}

export function sendHandOver(
  runner: ScriptRunner,
  given: HandOverArguments,
): Promise<'handed-over' | 'lost'> {
  const { lockName, key, owner, traveller, keepMs, stamp, isNoted } = given
  const keys = [key, tombstonePrefix(key) + owner, ...(isNoted ? [noteKey(key)] : [])]
  const args = [owner, traveller, `${keepMs}`, `${stamp.sequence}`, REPLAY_GUARD_TTL_MS]
  return runner.run({ script: handOverScript, keys, args, parse: parseHandedOver, lockName })
}

function parseHandedOver(reply: unknown): 'handed-over' | 'lost' {
  return wasDone(reply) ? 'handed-over' : 'lost'
}

export const adoptScript = defineEntryScript(
  travelSources,
  'travel/adopt',
  either(numberFrom(1, 3), either(parts(isToken), facts(3))),
)

export interface AdoptArguments extends TravelArguments {
  readonly leaseMs: number
  readonly note: NoteRequest | undefined
  /** For a fenced lock: how its fencing tokens are counted. */
  readonly rule: TokenRule | undefined
}

/** `held`: the name is not there; with the holder, '' for none. */
export function sendAdopt(runner: ScriptRunner, given: AdoptArguments): Promise<AcquireReply> {
  const { lockName, key, owner, traveller, leaseMs, stamp, note, rule } = given
  const keys = [key, tombstonePrefix(key) + owner, noteKey(key), ...(rule ? [tokenKey(key)] : [])]
  const args = [
    owner,
    traveller,
    `${leaseMs}`,
    ...argvOfStamp(stamp),
    note ? wantedNote(note) : '',
    ...(rule ? [rule.tokens, `${rule.tokenTtlMs ?? 0}`] : []),
  ]
  return runner.run({ script: adoptScript, keys, args, parse: parseAdopted, granted, lockName })
}

function parseAdopted(reply: unknown): AcquireReply {
  if (!Array.isArray(reply)) {
    return parseAcquired(reply)
  }
  const [first, holder, holds] = reply as unknown[]
  return reply.length === 1
    ? { kind: 'acquired', token: String(first) }
    : { kind: 'held', ttlMs: Number(first), holder: String(holder), holds: Number(holds) }
}
