// A hundred thousand callers for locks that others have, who go at any instant of it: none leaves a trace (I8). What it
// shows: docs/reliability.md.
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './abandoned-waits/arguments.mjs'
import { abandonWaits } from './abandoned-waits/run.mjs'
import { runScript } from './script-main.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const describe = ({ aborted, timedOut, won, unanswered, parked, late, taken, longestMs, growth }) =>
  [
    `  ${aborted} aborted, ${timedOut} timed out, ${won} won, ${unanswered} without an answer; ${parked} had begun to wait`,
    `  ${late} came too late for their caller and were given back; others took the locks ${taken} times`,
    `  longest call ${Math.round(longestMs)} ms; heap after to heap before ${growth.toFixed(3)}`,
  ].join('\n')

await runScript({
  ...{ parseArguments, USAGE },
  run: async ({ waits, seed, kind }) => {
    const startedAt = performance.now()
    console.log(`${waits} waits for a ${kind}, seed ${seed}`)
    const figures = await abandonWaits({ waits, seed, kind }, { interrupted, log })
    console.log(`${describe(figures)}\n  ${Math.round((performance.now() - startedAt) / 1000)} s`)
    console.log('Nothing was left behind.')
    return true
  },
  complaint: (error) => (error.name === 'Violation' ? `A violation: ${error.message}` : error),
})
