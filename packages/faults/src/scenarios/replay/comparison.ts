import { setTimeout as sleep } from 'node:timers/promises'
import type { Hold } from '@holdfast/core'
import type { Redis } from 'ioredis'
import { Grace, type Allowance, type Wire } from './grace.js'
import type { Caller, Model } from './model.js'

const LATCH = 'holdfast:latch:'
const LINE = 'holdfast:line:'

interface Finding {
  readonly what: string
  readonly graces: readonly Allowance[]
}

/** The finding that `look` still has when every grace is over. */
const afterGrace = async (look: () => Promise<Finding | null>): Promise<string | null> => {
  let finding = await look()
  while (finding && !finding.graces.every((grace) => grace.isOver)) {
    await sleep(10)
    finding = await look()
  }
  return finding?.what ?? null
}

/**
 * Redis has exactly the levels that their owner was told, under one name: the holder's, or for a moment that of one who
 * had the same possession before.
 */
const wrongCount = (
  model: Model,
  name: string,
  holds: readonly [Hold, ...Hold[]],
  fields: Readonly<Record<string, string>>,
): Finding | null => {
  const [{ owner }] = holds
  const entries = Object.entries(fields)
  const [named = '', count] = entries[0] ?? []
  const lag = model.lagOf(owner, named)
  const isNamedRight = named === owner || lag !== null
  const expected = JSON.stringify({ [owner]: `${holds.length}` })
  const what = `Redis has ${JSON.stringify({ ...fields })}, and the owner was told ${expected} (I2)`
  if (entries.length !== 1 || !isNamedRight || count !== `${holds.length}`)
    return { what, graces: model.gracesOf(name) }
  return lag ? { what: `${what}; the name did not follow`, graces: [lag] } : null
}

/** A lock that is held is its owner's, is trusted, and would end by itself. */
const wrongHold = async (direct: Redis, model: Model, name: string): Promise<Finding | null> => {
  const holds = model.holds(name) as [Hold, ...Hold[]]
  const graces = model.gracesOf(name)
  const distrusted = holds.find((hold) => hold.signal.aborted || hold.trustedForMs <= 0)
  if (distrusted) {
    const why = String(distrusted.lossError)
    return { what: `${distrusted.owner} does not trust its hold any more (${why}) (I1)`, graces }
  }
  if ((await direct.pttl(name)) === -1) return { what: 'the key has no time to live (I6)', graces }
  return wrongCount(model, name, holds, await direct.hgetall(name))
}

export interface Compared {
  /** A connection that no fault reaches. */
  readonly direct: Redis
  readonly model: Model
}

/**
 * What one flow was told and what Redis has: the same at once, or when the grace is over for what had no answer. What it
 * has released is not there: unless it was passed on and may still be held.
 */
export const compareOwn = async (
  { direct, model }: Compared,
  { name, flow, released }: { name: string; flow: Caller; released: string | null },
): Promise<void> => {
  const look = async (): Promise<Finding | null> => {
    // Before Redis is asked: what is over by then has left nothing there.
    const lag = released === null ? null : model.lagAfter(released)
    const fields = await direct.hgetall(name)
    const [first, ...others] = model.holdsOf(name, flow)
    if (released !== null && released in fields) {
      const graces = [...model.gracesOf(name, flow), ...(lag ? [lag] : [])]
      return { what: `Redis has ${released}, which was released (I2)`, graces }
    }
    return first ? wrongCount(model, name, [first, ...others], fields) : null
  }
  const finding = await afterGrace(look)
  if (finding !== null) throw model.difference(name, finding)
}

/** When a plain lock was last left free: it outlives an empty queue by two minutes, and nobody stands in it. */
const isMark = async (direct: Redis, key: string): Promise<boolean> =>
  key.startsWith(LINE) && (await direct.zrange(key, '0', '-1')).join() === 'left-free'

/** Nothing is under way. What is held is as its owner was told, at once; what nobody holds is gone within a second. */
export const compareAtRest = async ({ direct, model }: Compared, wires: readonly Wire[]): Promise<void> => {
  const graces = wires.map((wire) => new Grace(wire))
  const held = model.names.filter((name) => model.holds(name).length > 0)
  for (const name of held) {
    const finding = await afterGrace(() => wrongHold(direct, model, name))
    if (finding !== null) throw model.difference(name, finding)
  }
  const orphan = await afterGrace(async () => {
    const keys = await direct.keys('*')
    const left = keys.filter((key) => !held.includes(key) && !key.startsWith(LATCH)).sort()
    for (const what of left) {
      if (!(await isMark(direct, what))) return { what, graces }
    }
    return null
  })
  if (orphan === null) return
  const fields = (await direct.type(orphan)) === 'hash' ? JSON.stringify(await direct.hgetall(orphan)) : ''
  const name = model.names.includes(orphan) ? orphan : (model.names[0] as string)
  throw model.difference(name, `nobody was told of the key ${orphan}, ${fields}, which stays (I8)`)
}
