// Semaphores and count-down latches with callers of several processes that are killed, or whose wires and Redis are
// broken: what is in use at any moment, and what is there at rest. docs/semaphores.md has the figures.
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './semaphores/arguments.mjs'
import { report } from './semaphores/report.mjs'
import { run } from './semaphores/run.mjs'
import { runScript } from './script-main.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

await runScript({
  ...{ parseArguments, USAGE },
  heading: ({ seed, seconds, processes, callers, faults }) =>
    `seed ${seed}, ${seconds} s, ${processes} processes with ${callers} callers each, ${faults.join(', ')}`,
  run: async (wanted) => {
    const result = await run(wanted, { interrupted, log })
    console.log(wanted.json ? JSON.stringify(result) : report(result, wanted))
    return result.problems.length === 0
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
