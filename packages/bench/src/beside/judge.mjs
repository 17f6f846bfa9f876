/**
 * Who was inside with somebody else, by the order in which Redis heard of it. Whoever was killed is inside no more,
 * whatever of it arrives later.
 *
 * @param {readonly string[]} events `in <id>`, `out <id>`, `dead <id>`; an id is `<kind>-<number>`
 */
export function judged(events) {
  const inside = new Set()
  const dead = new Set()
  const entries = {}
  const overlaps = []
  let latest = ''
  let changes = 0
  for (const event of events) {
    const [what, id] = event.split(' ')
    if (what === 'dead') dead.add(id)
    if (what !== 'in' || dead.has(id)) {
      inside.delete(id)
      continue
    }
    if (inside.size > 0) overlaps.push(`${id} came in while ${[...inside].join(', ')} was inside`)
    inside.add(id)
    const kind = id.replace(/-\d+$/, '')
    entries[kind] = (entries[kind] ?? 0) + 1
    if (latest !== '' && latest !== kind) changes += 1
    latest = kind
  }
  return { entries, overlaps, changes }
}
