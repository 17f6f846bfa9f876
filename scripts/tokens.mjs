// Tokens of one fenced lock with callers of several processes, while its Redis restarts or loses its data: they grow
// where docs/fenced-lock.md says so, and the rest shows what is lost where they do not.
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './tokens/arguments.mjs'
import { runSeries } from './tokens/series.mjs'
import { verdict } from './tokens/verdict.mjs'
import { runScript } from './script-main.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

// Long enough for several losses.
const FEWEST_WHERE_LOST = 1_000

const seriesOf = ({ acquisitions }) => [
  { tokens: 'counter', events: ['restart', 'crash'], acquisitions, grows: true },
  { tokens: 'time', events: ['restart', 'crash', 'flush'], acquisitions, grows: true },
  {
    ...{ tokens: 'counter', events: ['flush'], grows: false },
    acquisitions: Math.max(FEWEST_WHERE_LOST, Math.ceil(acquisitions / 10)),
  },
]

const runAll = async (wanted) => {
  const results = []
  for (const series of seriesOf(wanted)) {
    const { tokens, events, acquisitions, grows } = series
    log(`seed ${wanted.seed}, tokens: '${tokens}', ${acquisitions} acquisitions, ${events.join(', ')}`)
    const seen = await runSeries({ ...wanted, ...series }, interrupted)
    results.push({ tokens, grows, ...verdict(seen, { grows }) })
  }
  return results
}

const report = ({ tokens, grows, acquisitions, losses, restarts, flushes, backwards, refused, ...more }) => {
  const happened = `${restarts} restarts with the data, ${flushes} times FLUSHALL`
  const lines = [
    `tokens: '${tokens}': ${acquisitions} acquisitions, ${happened}, ${losses} holders lost the lock by that`,
    `  ${backwards} tokens not larger than all before; a guard refused ${refused} holders that had the lock`,
    ...more.problems.map((problem) => `  NOT AS IT SHOULD BE: ${problem}`),
    ...(more.problems.length > 0 ? [] : [grows ? '  grew strictly' : '  did not grow, as is to be expected']),
  ]
  return lines.join('\n')
}

await runScript({
  ...{ parseArguments, USAGE },
  run: async (wanted) => {
    const results = await runAll(wanted)
    console.log(wanted.json ? JSON.stringify(results) : results.map(report).join('\n'))
    return results.every(({ problems }) => problems.length === 0)
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
