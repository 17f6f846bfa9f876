// Fail-overs, and slots that move, while locks are contended for: how long until they work again, what is lost, and
// whether anybody gets what somebody else believes to have. And what ten thousand held locks cost a cluster.
import { interruption } from './interruption.mjs'
import { runScript } from './script-main.mjs'
import { parseArguments, USAGE } from './under-load/arguments.mjs'
import { renewals } from './under-load/renewals.mjs'
import { report } from './under-load/report.mjs'
import { runScenario } from './under-load/run-scenario.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const isAsPromised = ({ promise, wrong, stuck }) => stuck === 0 && (promise === 'counted' || wrong === 0)

await runScript({
  ...{ parseArguments, USAGE },
  run: async (wanted) => {
    const scenarios = []
    for (const name of wanted.only) {
      log(name)
      scenarios.push(await runScenario(name, wanted, interrupted))
    }
    const results = { scenarios, renewals: wanted.held > 0 ? await renewals(wanted.held, interrupted) : null }
    console.log(wanted.json ? JSON.stringify(results) : report(results))
    return scenarios.every(isAsPromised) && (results.renewals?.apart.lost ?? 0) === 0
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
