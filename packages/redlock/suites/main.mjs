// The test suites of redlock 4, of redlock 5 and of its fork by Sesame Care, unchanged, on @holdfast/redlock.
import { SUITES } from './catalog.mjs'
import { startServers } from './servers.mjs'
import { resultsOf } from './run-suite.mjs'
import { makeTools, sourceOf } from './sources.mjs'
import { requireKnown } from '../../../scripts/command-line.mjs'
import { runCommand } from '../../../scripts/run-command.mjs'
import { NotAvailable } from '../../../scripts/support/cache.mjs'

const NAMES = Object.keys(SUITES)
const LEAST = 0.9
const USAGE = `Usage: npm run test:redlock -- [--only ${NAMES.join('|')}] [--clone <suite>=<repository>]

  --only      one of the suites; may be given again
  --clone     a clone of the suite's repository, in place of the one on GitHub: a folder or a URL
  --help

A suite that cannot be fetched is skipped, with the reason.
Their tests are timed, so a suite with failures runs once more, and what passes then has passed.
Exit code: 0 at least 90 % of the tests passed that are not expected to fail; 1 otherwise; 2 the arguments are wrong.`

const run = async ({ only, clone }) => {
  const clones = Object.fromEntries(clone.map((each) => each.split(/=(.*)/s)))
  requireKnown('only', only, NAMES)
  requireKnown('clone', Object.keys(clones), NAMES)
  const tools = await makeTools()
  const servers = await startServers()
  let held = true
  try {
    for (const name of only) {
      const suite = SUITES[name]
      let folder
      try {
        folder = await sourceOf(suite, clones[name])
      } catch (error) {
        if (!(error instanceof NotAvailable)) throw error
        console.log(`${name}: skipped, ${error.message}`)
        continue
      }
      await servers.clear()
      const setting = { folder, tools, ports: servers.ports }
      const isExpected = ({ title }) => suite.exceptions.some(({ tests: pattern }) => pattern.test(title))
      let tests = await resultsOf(suite, setting)
      if (tests.some((each) => !each.isGreen && !isExpected(each))) {
        await servers.clear()
        const passed = (await resultsOf(suite, setting)).filter((each) => each.isGreen)
        // The title of a failure may go on with the reason.
        const hasPassed = ({ title }) => passed.some((each) => title.startsWith(each.title))
        tests = tests.map((each) => ({ ...each, isGreen: each.isGreen || hasPassed(each) }))
      }
      const failed = tests.filter((each) => !each.isGreen)
      const failures = failed.filter((each) => !isExpected(each)).map(({ title }) => title)
      const green = tests.length - failed.length
      held &&= green / (green + failures.length) >= LEAST
      console.log(
        `${name}: ${green} of ${tests.length} tests (${((100 * green) / tests.length).toFixed(0)} %)`,
      )
      for (const { tests: pattern, reason } of suite.exceptions) {
        const count = failed.filter(({ title }) => pattern.test(title)).length
        if (count > 0) console.log(`  ${count} expected: ${reason}`)
      }
      failures.forEach((title) => console.log(`  FAILED: ${title}`))
    }
    return held
  } finally {
    await servers.stop()
  }
}

const several = { type: 'string', multiple: true }
await runCommand({
  USAGE,
  options: { only: { ...several, default: NAMES }, clone: { ...several, default: [] } },
  run,
})
process.exit()
