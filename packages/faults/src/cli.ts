import { Command, CommanderError } from 'commander'
import { count, optionOf } from './run/options.js'
import { runScenario, type CommonOptions } from './run/run-scenario.js'
import type { Scenario } from './run/scenario.js'
import { SCENARIOS } from './scenarios/index.js'

const SEED = count(1, 'whole number; decides what happens, and when', { least: 0 })
const EXIT_CODES = '\nExit code: 0 all held, 1 something was violated, 2 the arguments are wrong.'

const program = (run: (scenario: Scenario, options: CommonOptions) => Promise<void>): Command => {
  const faults = new Command('npm run faults --')
    .description(
      'Breaks Holdfast on purpose, and checks what its processes saw. How to read it: docs/reliability.md',
    )
    .exitOverride()
    .addHelpText('after', EXIT_CODES)
  for (const scenario of SCENARIOS) {
    const command = faults
      .command(scenario.name)
      .summary(scenario.summary)
      .description(
        `${scenario.summary}\n\nSeconds: ${scenario.smoke || 'as it is'}. Published: ${scenario.long || 'as it is'}.`,
      )
      .addOption(optionOf('seed', SEED))
      .option('--history <FILE>', 'keeps the events of the run as JSON lines')
      .option('--json', 'prints what was measured as JSON')
      .addHelpText('after', EXIT_CODES)
      .exitOverride()
      .action((options: CommonOptions) => run(scenario, options))
    for (const [name, spec] of Object.entries(scenario.options)) command.addOption(optionOf(name, spec))
  }
  return faults
}

/**
 * @returns the exit code
 * @param args without those of Node
 * @param interrupted aborts when the process is asked to end
 */
export const main = async (args: readonly string[], interrupted: AbortSignal): Promise<number> => {
  let code = 0
  const run = async (
    scenario: Scenario,
    { seed, history, json, ...options }: CommonOptions,
  ): Promise<void> => {
    console.error(`${scenario.name}, seed ${seed}${scenario.heading ? `, ${scenario.heading(options)}` : ''}`)
    const { report, violations, figures, skipped } = await runScenario(
      scenario,
      options,
      { seed, history },
      interrupted,
    )
    if (skipped !== undefined) {
      console.log(`Skipped: ${skipped}.`)
      return
    }
    const found = violations.length === 0 ? ['No violation.'] : violations.map((each) => `\n${each}`)
    console.log(json === true ? JSON.stringify({ figures, violations }) : [...report, ...found].join('\n'))
    code = violations.length === 0 ? 0 : 1
  }
  try {
    await program(run).parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    console.error(interrupted.aborted ? (interrupted.reason as Error).message : error)
    return 1
  }
}
