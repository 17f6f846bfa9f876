// The contract suites of every kind of lock on every topology that a service really runs on, and what came of it.
import { interruption } from './interruption.mjs'
import { runScript } from './script-main.mjs'
import { table } from './table.mjs'
import { parseArguments, USAGE } from './topologies/arguments.mjs'
import { TOPOLOGIES } from './topologies/launch.mjs'
import { runSuites } from './topologies/run-suites.mjs'

const interrupted = interruption()

const runOn = async (name, smoke) => {
  const { what, start } = TOPOLOGIES[name]
  console.error(`${name}: ${what}`)
  const started = await start()
  try {
    return { name, what, ...(await runSuites(started, { smoke, interrupted })) }
  } finally {
    await started.stop()
  }
}

await runScript({
  ...{ parseArguments, USAGE },
  run: async ({ only, smoke, json }) => {
    const results = []
    for (const name of only) results.push(await runOn(name, smoke))
    const rows = results.map(({ what, passed, failed }) => [what, `${passed}`, `${failed}`])
    console.log(json ? JSON.stringify(results) : table([['', 'passed', 'failed'], ...rows]).join('\n'))
    for (const { name, failures } of results) failures.forEach((each) => console.error(`${name}: ${each}`))
    return results.every(({ passed, failed }) => passed > 0 && failed === 0)
  },
})
