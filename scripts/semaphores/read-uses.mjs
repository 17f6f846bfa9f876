import { kindOf } from './names.mjs'

/**
 * One call for permits.
 *
 * @typedef {{ name: string, use: string, permits: number, waitMs: number, process: string, beginMs: number,
 *   endMs?: number, end?: 'taken' | 'refused' | 'failed', takenMs?: number, untilMs: number, lostMs?: number,
 *   giveMs?: number, givenMs?: number, outcome?: string, killedMs?: number }} Read `untilMs`: Infinity for permits without an end
 */

/** @param {object[]} all in order of time @returns {Read[]} up to the look at what is there at rest */
export const readUses = (all) => {
  const restsAt = all.findIndex(({ kind }) => kind === 'at-rest')
  const events = restsAt < 0 ? all : all.slice(0, restsAt)
  const uses = new Map()
  const killed = new Map()
  for (const event of events) {
    if (event.kind === 'killed') killed.set(event.process, event.atMs)
    else if (event.kind === 'take') {
      const { name, use, permits, waitMs, process, atMs } = event
      uses.set(use, { name, use, permits, waitMs, process, beginMs: atMs, untilMs: Infinity })
    } else if (uses.has(event.use)) note(uses.get(event.use), event)
  }
  for (const use of uses.values()) use.killedMs = killed.get(use.process)
  return [...uses.values()]
}

const note = (use, { kind, atMs, untilMs, outcome }) => {
  switch (kind) {
    case 'taken':
      Object.assign(use, { end: kind, endMs: atMs, takenMs: atMs, untilMs: untilMs ?? Infinity })
      break
    case 'refused':
    case 'failed':
      Object.assign(use, { end: kind, endMs: atMs })
      break
    case 'trusted':
      // Renewal never brings back what has ended: one that is trusted again was held throughout.
      if (use.lostMs === undefined && use.giveMs === undefined) use.untilMs = untilMs
      break
    case 'lost':
      use.lostMs ??= atMs
      break
    case 'give':
      use.giveMs = atMs
      break
    case 'given':
      Object.assign(use, { givenMs: atMs, outcome })
  }
}

/** @param {Read[]} uses @returns {Map<string, Read[]>} */
export const byName = (uses) => {
  const groups = new Map()
  for (const use of uses) {
    if (!groups.has(use.name)) groups.set(use.name, [])
    groups.get(use.name).push(use)
  }
  return groups
}

/** Until when its permits were in use. Without an end they are in use for ever when nobody gave them back. */
export const usedUntilMs = (use) => {
  const { untilMs, lostMs = Infinity, giveMs = Infinity, killedMs = Infinity, name } = use
  const overMs = kindOf(name) === 'permits' ? Math.min(lostMs, killedMs) : Infinity
  return Math.min(untilMs, giveMs, overMs)
}
