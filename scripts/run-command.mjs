import { UsageError } from './command-line.mjs'

/**
 * A script with a command line and an exit code: 0 all held, 1 not so or an error, 2 the arguments are wrong.
 *
 * @template {{ help?: boolean }} Wanted
 * @param {object} script
 * @param {(args: string[]) => Wanted} script.parseArguments
 * @param {string} script.USAGE
 * @param {(wanted: Wanted) => Promise<boolean>} script.run prints what it found; whether all held
 */
export const runCommand = async ({ parseArguments, USAGE, run }) => {
  try {
    const wanted = parseArguments(process.argv.slice(2))
    if (wanted.help) {
      console.log(USAGE)
      return
    }
    if (!(await run(wanted))) process.exitCode ||= 1
  } catch (error) {
    console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
    process.exitCode ||= error instanceof UsageError ? 2 : 1
  }
}
