import { isDeepStrictEqual } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { Grace } from './grace.mjs'

const LATCH = 'holdfast:latch:'

/** What `look` still has to say when every grace is over. */
const afterGrace = async (graces, look) => {
  let finding = await look()
  while (finding && !graces.every((grace) => grace.isOver)) {
    await sleep(10)
    finding = await look()
  }
  return finding
}

const throwIf = (finding, model, name) => {
  if (finding) throw model.difference(name, finding)
}

/** Redis has exactly the levels that somebody was told. */
const wrongCount = (holds, fields) => {
  const expected = { [holds[0].owner]: `${holds.length}` }
  if (isDeepStrictEqual({ ...fields }, expected)) return null
  return `Redis has ${JSON.stringify(fields)}, and the owner was told ${JSON.stringify(expected)} (I2)`
}

/** A lock that somebody has is theirs, is trusted, and would end by itself. */
const wrongHold = async (direct, name, holds) => {
  const distrusted = holds.find((hold) => hold.signal.aborted || hold.trustedForMs <= 0)
  if (distrusted) return `${distrusted.owner} does not trust its hold any more (${distrusted.lossError})`
  if ((await direct.pttl(name)) === -1) return 'the key has no time to live (I6)'
  return wrongCount(holds, await direct.hgetall(name))
}

/**
 * What one flow was told and what Redis has: the same at once, or when the grace is over for what had no
 * answer.
 *
 * @param {{ direct: any, model: any }} parts
 * @param {{ name: string, flow: object, released: string | null }} of
 */
export const compareOwn = async ({ direct, model }, { name, flow, released }) => {
  const look = async () => {
    const fields = await direct.hgetall(name)
    const holds = model.holdsOf(name, flow)
    if (released && released in fields) return `Redis has ${released}, which was released (I2)`
    return holds.length > 0 ? wrongCount(holds, fields) : null
  }
  throwIf(await afterGrace(model.gracesOf(name, flow), look), model, name)
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
    const look = () => wrongHold(direct, name, model.holds(name))
    throwIf(await afterGrace(model.gracesOf(name), look), model, name)
  }
  const orphan = await afterGrace(graces, async () => {
    const keys = await direct.keys('*')
    return keys.filter((key) => !held.includes(key) && !key.startsWith(LATCH)).sort()[0]
  })
  if (!orphan) return
  const what = `nobody was told of the key ${orphan}, ${JSON.stringify(await direct.hgetall(orphan))}, which stays (I8)`
  throw model.difference(model.names.includes(orphan) ? orphan : model.names[0], what)
}
