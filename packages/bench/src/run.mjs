import { performance } from 'node:perf_hooks'
import { Context } from './context.mjs'
import { PACKAGES } from './contestants/index.mjs'
import { load, machineFacts, versionOf } from './machine.mjs'
import { hasFlows, SCENARIOS } from './scenarios/index.mjs'

const chosen = ({ only }) => SCENARIOS.filter(({ id }) => only.includes(id))

const resultOf = async (scenario, context, wanted) => scenario.run(context, paramsOf(scenario, wanted))

const paramsOf = (scenario, { smoke, flows, rounds, ms }) => ({
  ...(smoke ? scenario.small : scenario.full),
  ...(flows !== undefined && hasFlows(scenario) ? { flows } : {}),
  ...(rounds === undefined ? {} : { rounds }),
  ...(ms === undefined ? {} : { ms }),
})

/** Options that change the figures. */
const optionsOf = ({ only, contestants, flows, rounds, ms }) => {
  const options = [
    ...(only.length === SCENARIOS.length ? [] : only.map((name) => `--only ${name}`)),
    ...(contestants.length === 0 ? [] : [`--contestants '${contestants.join(',')}'`]),
    ...(flows === undefined ? [] : [`--flows ${flows.join(',')}`]),
    ...(rounds === undefined ? [] : [`--rounds ${rounds}`]),
    ...(ms === undefined ? [] : [`--ms ${ms}`]),
  ]
  return options.length === 0 ? '' : ` -- ${options.join(' ')}`
}

/**
 * Runs the scenarios one after the other.
 *
 * @param {ReturnType<typeof import('./arguments.mjs').parseArguments>} wanted
 * @param {{ url: string, info: import('./redis-info.mjs').RedisInfo, signal: AbortSignal, log: (line: string) => void }} how
 * @returns {Promise<object>} what was found, and in `problems` what ends the process with 1
 */
export const runScenarios = async (wanted, { url, info, signal, log }) => {
  const before = load()
  const startedAt = performance.now()
  const context = new Context({ url, info, signal, log, contestants: wanted.contestants })
  const scenarios = {}
  const problems = []
  const bars = []
  for (const scenario of chosen(wanted)) {
    const result = await resultOf(scenario, context, wanted).catch((error) => {
      signal.throwIfAborted()
      log(error.stack)
      problems.push(`${scenario.id}: ${error.message}`)
    })
    // One failure does not lose what the others took minutes to measure.
    if (result === undefined) continue
    scenarios[scenario.id] = result
    problems.push(...scenario.problems(result).map((each) => `${scenario.id}: ${each}`))
    if (wanted.smoke) log(`${scenario.id}: ${scenario.problems(result).length === 0 ? 'ok' : 'FAILED'}`)
    bars.push(...scenario.bars(result))
  }
  await info.removeKeysWith(context.runId)
  return {
    machine: machineFacts(),
    redis: await info.version(),
    versions: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
    load: { before, after: load() },
    seconds: (performance.now() - startedAt) / 1_000,
    options: optionsOf(wanted),
    missing: context.missing,
    bars,
    scenarios,
    problems,
  }
}
