// Callers of several processes, with kills, losses and broken wires: what they counted themselves, and what the metrics
// say of the same moment. docs/telemetry.md has the figures.
import { interruption } from './interruption.mjs'
import { runScript } from './script-main.mjs'
import { parseArguments, USAGE } from './telemetry/arguments.mjs'
import { report } from './telemetry/report.mjs'
import { run } from './telemetry/run.mjs'

const interrupted = interruption()

await runScript({
  ...{ parseArguments, USAGE },
  heading: ({ seed, seconds, processes, callers, faults }) =>
    `seed ${seed}, ${seconds} s, ${processes} processes with ${callers} callers each, ${faults.join(', ')}`,
  run: async (wanted) => {
    const result = await run(wanted, interrupted)
    console.log(report(result))
    return result.problems.length === 0
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
