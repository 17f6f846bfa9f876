// A hundred thousand callers for locks that others have, who go at any instant of it: none leaves a trace (I8). What it
// shows: docs/reliability.md.
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './abandoned-waits/arguments.mjs'
import { abandonWaits } from './abandoned-waits/run.mjs'
import { runScript } from './script-main.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const describe = ({ aborted, timedOut, won, unanswered, parked, late, taken, ...more }) =>
  [
    `  ${aborted} aborted, ${timedOut} timed out, ${won} won, ${unanswered} without an answer; ${parked} had begun to wait`,
    `  ${late} came too late for their caller and were given back; others took the locks ${taken} times`,
    `  ${more.passed} were passed on in memory, ${more.renamed} times a name followed, ${more.repeated} times who was given a lock tried too`,
    `  longest call ${Math.round(more.longestMs)} ms; heap after to heap before ${more.growth.toFixed(3)}`,
  ].join('\n')

await runScript({
  ...{ parseArguments, USAGE },
  run: async ({ waits, seed, kind, passing }) => {
    const startedAt = performance.now()
    console.log(`${waits} waits for a ${kind}, local passing ${passing ? 'on' : 'off'}, seed ${seed}`)
    const figures = await abandonWaits({ waits, seed, kind, passing }, { interrupted, log })
    console.log(`${describe(figures)}\n  ${Math.round((performance.now() - startedAt) / 1000)} s`)
    console.log('Nothing was left behind.')
    return true
  },
  complaint: (error) => (error.name === 'Violation' ? `A violation: ${error.message}` : error),
})
