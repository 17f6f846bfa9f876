const sum = (values) => values.reduce((all, value) => all + value, 0)

/**
 * What a trace says of one contestant.
 *
 * @param {{ pairs: number, elapsedMs: number, events: import('./recorder.mjs').TraceEvent[] }} trace
 * @param {{ reads: number, micros: number }} server how often it read meanwhile, and its CPU time
 */
export const figuresOf = ({ pairs, elapsedMs, events }, server) => {
  const writes = events.filter(({ what }) => what === 'write')
  const reads = events.filter(({ what }) => what === 'read')
  const sleeps = events.map(({ sleptMs }) => sleptMs).filter((ms) => ms > 0)
  return {
    pairsPerSecond: (pairs * 1_000) / elapsedMs,
    writesPerPair: writes.length / pairs,
    commandsPerWrite: sum(writes.map(({ count }) => count)) / writes.length,
    bytesPerPair: sum(writes.map(({ bytes }) => bytes)) / pairs,
    repliesPerRead: sum(reads.map(({ count }) => count)) / reads.length,
    sleepsPerPair: sleeps.length / pairs,
    sleepMicros: sleeps.length === 0 ? 0 : (sum(sleeps) * 1_000) / sleeps.length,
    asleep: sum(sleeps) / elapsedMs,
    serverReadsPerPair: server.reads / pairs,
    serverBusy: server.micros / 1_000 / elapsedMs,
  }
}

export const HEAD = [
  'contestant',
  ...['pairs/s', 'writes a pair', 'commands a write', 'bytes a pair', 'replies a read'],
  ...['sleeps a pair', 'µs a sleep', 'asleep', "Redis's reads a pair", 'CPU of Redis'],
]

/** @param {string} name @param {ReturnType<typeof figuresOf>} figures */
export const rowOf = (name, figures) => [
  name,
  figures.pairsPerSecond.toFixed(0),
  figures.writesPerPair.toFixed(2),
  figures.commandsPerWrite.toFixed(2),
  figures.bytesPerPair.toFixed(0),
  figures.repliesPerRead.toFixed(2),
  figures.sleepsPerPair.toFixed(2),
  figures.sleepMicros.toFixed(1),
  `${(figures.asleep * 100).toFixed(0)} %`,
  figures.serverReadsPerPair.toFixed(2),
  `${(figures.serverBusy * 100).toFixed(0)} %`,
]

/** So many events from the middle of a trace, one a line. @param {import('./recorder.mjs').TraceEvent[]} events */
export const timeline = (events, count) => {
  const from = Math.max(0, Math.floor((events.length - count) / 2))
  const shown = events.slice(from, from + count)
  return shown.map(({ at, what, bytes, count: parts, sleptMs }, i) => {
    const micros = ((at - shown[0].at) * 1_000).toFixed(0).padStart(8)
    const gap = i === 0 ? '' : `+${((at - shown[i - 1].at) * 1_000).toFixed(0)}`
    const slept = sleptMs > 0 ? `  after ${(sleptMs * 1_000).toFixed(0)} µs of sleep` : ''
    return `${micros} µs ${gap.padStart(6)}  ${what.padEnd(5)} ${`${parts}`.padStart(3)}  ${`${bytes}`.padStart(5)} bytes${slept}`
  })
}
