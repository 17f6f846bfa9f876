import { parseOptions, UsageError } from './command-line.mjs'
import { NotAvailable } from './support/cache.mjs'

/**
 * A script with a command line and an exit code: 0 all held, or what it needs cannot be had here; 1 not so, or an error;
 * 2 the arguments are wrong.
 *
 * @template {{ help?: boolean }} Wanted
 * @param {object} script
 * @param {string} script.USAGE
 * @param {import('node:util').ParseArgsConfig['options']} [script.options] beside --help
 * @param {(args: string[]) => Wanted} [script.parseArguments] in place of the options as they are given
 * @param {(wanted: Wanted) => Promise<boolean | void>} script.run prints what it found; false: not all held
 */
export const runCommand = async ({ USAGE, options, parseArguments = parserOf(options), run }) => {
  try {
    const wanted = parseArguments(process.argv.slice(2))
    if (wanted.help) console.log(USAGE)
    else if ((await run(wanted)) === false) process.exitCode ||= 1
  } catch (error) {
    if (error instanceof NotAvailable) {
      console.log(`skipped, ${error.message}`)
      return
    }
    console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
    process.exitCode ||= error instanceof UsageError ? 2 : 1
  }
}

const parserOf = (options) => (args) =>
  parseOptions(args, { ...options, help: { type: 'boolean', default: false } })
