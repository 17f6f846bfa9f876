const WIDTH = 64
const SHADES = [' ', '░', '▒', '▓', '█']

/**
 * Who was inside with whom, by the order in which Redis heard of it, and for how long each process was. A process that
 * was killed is inside no more.
 *
 * @param {readonly string[]} events `in|out <lock> <id> <ms>`, `dead <id> <ms>`
 * @param {string} lock
 */
export const insideOf = (events, lock) => {
  const since = new Map()
  const stays = []
  let overlaps = 0
  const leave = (id, at) => {
    if (since.has(id)) stays.push({ id, from: since.get(id), to: at })
    since.delete(id)
  }
  for (const event of events) {
    const words = event.split(' ')
    const at = Number(words.at(-1))
    if (words[0] === 'dead') leave(words[1], at)
    else if (words[1] !== lock) continue
    else if (words[0] === 'out') leave(words[2], at)
    else {
      if (since.size > 0) overlaps += 1
      since.set(words[2], at)
    }
  }
  return { stays, overlaps }
}

/** A line for each process: the darker, the more of that moment it was inside. `│` is where it starts, `╳` where it is killed. */
export const picture = (stays, processes, [from, to]) => {
  const slice = (to - from) / WIDTH
  const place = (at) => Math.min(WIDTH - 1, Math.max(0, Math.floor((at - from) / slice)))
  return processes.map(({ id, version, startedAt, killedAt }) => {
    const of = stays.filter((stay) => stay.id === id)
    const cells = Array.from({ length: WIDTH }, (_, i) => {
      const [begin, end] = [from + i * slice, from + (i + 1) * slice]
      const share =
        of.reduce((sum, stay) => sum + Math.max(0, Math.min(stay.to, end) - Math.max(stay.from, begin)), 0) /
        slice
      return share === 0 ? ' ' : SHADES[Math.min(4, 1 + Math.floor(share * 6))]
    })
    if (startedAt > from) cells[place(startedAt)] = '│'
    if (killedAt !== undefined) cells[place(killedAt)] = '╳'
    return `  ${version} ${id.padStart(2)} ${cells.join('')} ${of.length} times`
  })
}
