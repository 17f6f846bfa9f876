import {
  holdsIn,
  type ScriptRunner,
  defineEntryScript,
  anyNumber,
  count,
  either,
  isList,
  isScalar,
  numberFrom,
  pairsIn,
  parts,
  texts,
  type Shape,
} from '../door.js'
import { observeSources } from './lua-sources.js'

const everyPart =
  (shape: Shape): Shape =>
  (reply) =>
    isList(reply) && reply.every(shape)

const scalars = everyPart(isScalar)

export const lookScript = defineEntryScript(
  observeSources,
  'observe/look',
  everyPart(
    either(numberFrom(0, 0), parts(anyNumber, texts, isScalar, isScalar, isScalar, isScalar, count, scalars)),
  ),
)

/** The keys of one lock, in the order of the script. */
export type KeysOfLock = readonly [
  hash: string,
  note: string,
  token: string,
  list: string,
  arrivals: string,
  line: string,
  writers: string,
]

export interface LookArguments {
  /** All in one cluster slot. */
  readonly locks: readonly KeysOfLock[]
  /** A key in the same slot that is never written. */
  readonly probe: string
  readonly mostWaiters: number
  /** Strings of other libraries count as locks, too. */
  readonly areStringsLocks: boolean
  /** The name of the one lock that was asked for: what is no lock is an error. */
  readonly asked?: string
}

/** A held lock as Redis knows it. Durations in ms. */
export interface LookReply {
  readonly ttlMs: number
  readonly mode: 'read' | 'write' | undefined
  /** By owner. Of another library's string: its text, with a count of 1. */
  readonly holds: ReadonlyMap<string, number>
  readonly isForeign: boolean
  /** '' without a counter. */
  readonly token: string
  readonly noted: { readonly owner: string; readonly heldMs: number } | undefined
  /** Where waiters stand. */
  readonly queue: 'fair' | 'plain' | 'writers' | ''
  readonly waiting: number
  /** The first of them. */
  readonly waiters: readonly { readonly owner: string; readonly waitedMs: number | undefined }[]
}

/** For each lock: null if it is free, or its key is no lock. @throws WrongTypeError the key of the lock that is `asked` for is no lock */
export function look(runner: ScriptRunner, given: LookArguments): Promise<readonly (LookReply | null)[]> {
  const { locks, probe, mostWaiters, areStringsLocks, asked } = given
  return runner.run({
    script: lookScript,
    keys: [...locks.flat(), probe],
    args: [`${mostWaiters}`, areStringsLocks ? '1' : '0', asked === undefined ? '0' : '1'],
    parse: (reply) => (reply as unknown[]).map(parseLook),
    ...(asked !== undefined && { lockName: asked }),
  })
}

type LookAnswer = [unknown, string[], unknown, unknown, unknown, LookReply['queue'], unknown, unknown[]]

function parseLook(reply: unknown): LookReply | null {
  if (!Array.isArray(reply)) {
    return null
  }
  const [ttlMs, fields, token, notedOwner, heldMs, queue, waiting, waiters] = reply as LookAnswer
  const owner = String(notedOwner)
  return {
    ...holdsIn(fields),
    ttlMs: Number(ttlMs),
    token: String(token),
    queue,
    waiting: Number(waiting),
    noted: owner === '' ? undefined : { owner, heldMs: Math.max(0, Number(heldMs)) },
    waiters: pairsIn(waiters).map(([each, waitedMs]) => ({
      owner: String(each),
      waitedMs: waitedMs === '' ? undefined : Number(waitedMs),
    })),
  }
}

export const reportScript = defineEntryScript(observeSources, 'observe/report', numberFrom(1, 1))

export interface ReportArguments {
  readonly clientsKey: string
  readonly reportKey: string
  readonly clientId: string
  /** 0: it reports no more. */
  readonly ttlMs: number
  readonly text: string
}

export function keepReport(runner: ScriptRunner, given: ReportArguments): Promise<void> {
  const { clientsKey, reportKey, clientId, ttlMs, text } = given
  const [keys, args] = [
    [reportKey, clientsKey],
    [clientId, `${ttlMs}`, text],
  ]
  return runner.run({ script: reportScript, keys, args, parse: nothing })
}

export const clientsScript = defineEntryScript(observeSources, 'observe/clients', scalars)

/** Client ids, each with the time until which its report lasts, in ms of Redis's clock. */
export function reportingClients(
  runner: ScriptRunner,
  clientsKey: string,
  probe: string,
): Promise<ReadonlyMap<string, number>> {
  return runner.run({
    script: clientsScript,
    keys: [clientsKey, probe],
    args: [],
    parse: (reply) => new Map(pairsIn(reply as unknown[]).map(([id, until]) => [String(id), Number(until)])),
  })
}

export const readScript = defineEntryScript(observeSources, 'observe/read', scalars)

/** '' where there is none. */
export function readReports(
  runner: ScriptRunner,
  keys: readonly string[],
  probe: string,
): Promise<readonly { readonly text: string; readonly lastsMs: number }[]> {
  return runner.run({
    script: readScript,
    keys: [...keys, probe],
    args: [],
    parse: (reply) =>
      pairsIn(reply as unknown[]).map(([text, lastsMs]) => ({
        text: String(text),
        lastsMs: Number(lastsMs),
      })),
  })
}

export const keysScript = defineEntryScript(observeSources, 'observe/keys', scalars)

export interface KeyState {
  /** `none`: it does not exist. */
  readonly type: string
  readonly ttlMs: number
}

export function statesOf(
  runner: ScriptRunner,
  keys: readonly string[],
  probe: string,
): Promise<readonly KeyState[]> {
  return runner.run({
    script: keysScript,
    keys: [...keys, probe],
    args: [],
    parse: (reply) =>
      pairsIn(reply as unknown[]).map(([type, ttlMs]) => ({ type: String(type), ttlMs: Number(ttlMs) })),
  })
}

export const tellScript = defineEntryScript(observeSources, 'observe/tell', count)

export function tell(runner: ScriptRunner, channel: string, text: string, probe: string): Promise<void> {
  return runner.run({ script: tellScript, keys: [probe], args: [channel, text], parse: nothing })
}

function nothing(): void {
  return undefined
}
