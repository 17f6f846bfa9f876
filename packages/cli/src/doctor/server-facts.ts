import type { Redis } from 'ioredis'
import type { Unchecked } from './finding.js'

/** Facts that one server tells of itself. */
export interface ServerFacts {
  readonly address: string
  readonly info: ReadonlyMap<string, string>
  /** Undefined: not permitted, as on most managed services. */
  readonly config: ReadonlyMap<string, string> | undefined
  readonly roundTripsMs: readonly number[]
  /** How far its clock is ahead of this machine's, ms, give or take half of a round trip. */
  readonly clockAheadMs: number
  /** Slow commands of the last hour, which kept all others waiting. Undefined: not permitted. */
  readonly slowCommands: readonly SlowCommand[] | undefined
}

export interface SlowCommand {
  readonly name: string
  readonly ms: number
}

const ROUND_TRIPS = 20
/** An acquire waits for as long behind it. */
export const SLOW_MS = 50
const SLOW_WITHIN_S = 3_600

/** @param wallNow this machine's clock, ms since 1970 */
export async function factsOf(
  redis: Redis,
  wallNow: () => number,
  unchecked: Unchecked[],
): Promise<ServerFacts> {
  const { host = '', port = 0 } = redis.options
  const address = `${host}:${port}`
  const permitted = async <T>(what: string, question: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await question()
    } catch (reason) {
      unchecked.push({ what: `${what} of ${address}`, why: (reason as Error).message })
      return undefined
    }
  }
  const info = await permitted('INFO', async () => infoIn(await redis.info()))
  const pairs = await permitted(
    'CONFIG GET',
    async () => (await redis.call('CONFIG', 'GET', '*')) as string[],
  )
  const roundTripsMs = await permitted('PING', () => roundTrips(redis))
  const clockAheadMs = (await permitted('TIME', () => clockAhead(redis, wallNow))) ?? 0
  const slowCommands = await permitted('SLOWLOG', async () =>
    slowIn((await redis.call('SLOWLOG', 'GET', '128')) as SlowEntry[], wallNow() + clockAheadMs),
  )
  return {
    ...{ address, clockAheadMs, slowCommands },
    roundTripsMs: roundTripsMs ?? [],
    info: info ?? new Map(),
    config: pairs && new Map(pairsIn(pairs)),
  }
}

async function roundTrips(redis: Redis): Promise<number[]> {
  const times: number[] = []
  while (times.length < ROUND_TRIPS) {
    const sentAt = performance.now()
    await redis.ping()
    times.push(performance.now() - sentAt)
  }
  return times
}

async function clockAhead(redis: Redis, wallNow: () => number): Promise<number> {
  const before = wallNow()
  const [seconds, micros] = await redis.time()
  const between = (before + wallNow()) / 2
  return Number(seconds) * 1_000 + Number(micros) / 1_000 - between
}

type SlowEntry = readonly [id: number, atS: number, micros: number, args: readonly string[]]

function slowIn(entries: readonly SlowEntry[], nowMs: number): SlowCommand[] {
  return entries
    .filter(([, atS, micros]) => micros >= SLOW_MS * 1_000 && nowMs / 1_000 - atS < SLOW_WITHIN_S)
    .map(([, , micros, args]) => ({ name: args[0] ?? '', ms: Math.round(micros / 1_000) }))
}

function infoIn(text: string): Map<string, string> {
  return new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const [, name, value] = /^(\w+):(.*)$/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    }),
  )
}

function pairsIn(list: readonly string[]): [string, string][] {
  return Array.from({ length: list.length >> 1 }, (_, i) => [list[2 * i] ?? '', list[2 * i + 1] ?? ''])
}
