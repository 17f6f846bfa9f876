// Jobs of a BullMQ queue that share resources, with workers in several processes: what each strategy does on a conflict
// and what it costs, beside the same queue without locks. docs/queues.md has the figures.
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './queue/arguments.mjs'
import { report } from './queue/report.mjs'
import { runStrategies } from './queue/run.mjs'
import { runScript } from './script-main.mjs'

const interrupted = interruption()

await runScript({
  ...{ parseArguments, USAGE },
  heading: ({ jobs, resources, processes, concurrency, workMs, seed }) =>
    `seed ${seed}: ${jobs} jobs of ${workMs} ms on ${resources} resources, ${processes} workers with ${concurrency} at a time each`,
  run: async (wanted) => {
    const results = await runStrategies(wanted, interrupted)
    console.log(wanted.json ? JSON.stringify(results) : report(results))
    return results.every(({ problems }) => problems.length === 0)
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
