import { setTimeout as sleep } from 'node:timers/promises'
import { Grace } from './grace.mjs'

const LATCH = 'holdfast:latch:'

/**
 * What `look` still has to say when every grace is over that its finding has.
 *
 * @param {() => Promise<{ what: string, graces: Grace[] } | null>} look
 * @returns {Promise<string | null>}
 */
const afterGrace = async (look) => {
  let finding = await look()
  while (finding && !finding.graces.every((grace) => grace.isOver)) {
    await sleep(10)
    finding = await look()
  }
  return finding?.what ?? null
}

const throwIf = (finding, model, name) => {
  if (finding) throw model.difference(name, finding)
}

/**
 * Redis has exactly the levels that somebody was told, under one name: the holder's, or for a moment that of one who had
 * the same possession before.
 */
const wrongCount = (model, name, holds, fields) => {
  const [{ owner }] = holds
  const entries = Object.entries(fields)
  const [[named, count] = []] = entries
  const lag = model.lagOf(owner, named)
  const isNamedRight = named === owner || lag !== null
  const expected = `${JSON.stringify({ [owner]: `${holds.length}` })}`
  const what = `Redis has ${JSON.stringify({ ...fields })}, and the owner was told ${expected} (I2)`
  if (entries.length !== 1 || !isNamedRight || count !== `${holds.length}`) {
    return { what, graces: model.gracesOf(name) }
  }
  return lag ? { what: `${what}; the name did not follow`, graces: [lag] } : null
}

/** A lock that somebody has is theirs, is trusted, and would end by itself. */
const wrongHold = async (direct, model, name) => {
  const holds = model.holds(name)
  const graces = model.gracesOf(name)
  const distrusted = holds.find((hold) => hold.signal.aborted || hold.trustedForMs <= 0)
  if (distrusted) {
    return { what: `${distrusted.owner} does not trust its hold any more (${distrusted.lossError})`, graces }
  }
  if ((await direct.pttl(name)) === -1) return { what: 'the key has no time to live (I6)', graces }
  return wrongCount(model, name, holds, await direct.hgetall(name))
}

/**
 * What one flow was told and what Redis has: the same at once, or when the grace is over for what had no
 * answer. What it has released is not there: unless it was passed on and somebody may still have it.
 *
 * @param {{ direct: any, model: any }} parts
 * @param {{ name: string, flow: object, released: string | null }} of
 */
export const compareOwn = async ({ direct, model }, { name, flow, released }) => {
  const look = async () => {
    // Before Redis is asked: what is over by then has left nothing there.
    const lag = released && model.lagAfter(released)
    const fields = await direct.hgetall(name)
    const holds = model.holdsOf(name, flow)
    if (released && released in fields) {
      const graces = [...model.gracesOf(name, flow), ...(lag ? [lag] : [])]
      return { what: `Redis has ${released}, which was released (I2)`, graces }
    }
    return holds.length > 0 ? wrongCount(model, name, holds, fields) : null
  }
  throwIf(await afterGrace(look), model, name)
}

/**
 * Nothing is under way. What somebody has is as they were told, at once; what nobody has is gone within a second.
 *
 * @param {{ direct: any, wires: import('./grace.mjs').Wire[], model: any }} parts
 */
export const compareAtRest = async ({ direct, wires, model }) => {
  const graces = wires.map((wire) => new Grace(wire))
  const held = model.names.filter((name) => model.holds(name).length > 0)
  for (const name of held) {
    throwIf(await afterGrace(() => wrongHold(direct, model, name)), model, name)
  }
  const orphan = await afterGrace(async () => {
    const keys = await direct.keys('*')
    const [what] = keys.filter((key) => !held.includes(key) && !key.startsWith(LATCH)).sort()
    return what ? { what, graces } : null
  })
  if (!orphan) return
  const what = `nobody was told of the key ${orphan}, ${JSON.stringify(await direct.hgetall(orphan))}, which stays (I8)`
  throw model.difference(model.names.includes(orphan) ? orphan : model.names[0], what)
}
