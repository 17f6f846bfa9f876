import { UsageError } from './command-line.mjs'
import { provideServerProgram } from './redis/server-program.mjs'

const log = (line) => console.error(line)

/**
 * A script that breaks or measures something: its command line, the server program on the PATH while it runs, its exit
 * code: 0 all held, 1 not so or an error, 2 the arguments are wrong.
 *
 * @template {{ help?: boolean }} Wanted
 * @param {object} script
 * @param {(args: string[]) => Wanted} script.parseArguments
 * @param {string} script.USAGE
 * @param {(wanted: Wanted) => string} [script.heading] what is said before anything is done
 * @param {(wanted: Wanted) => Promise<boolean>} script.run prints what it found; whether all held
 * @param {(error: Error) => unknown} [script.complaint] what is printed of an error
 */
export const runScript = async ({ parseArguments, USAGE, heading, run, complaint = (error) => error }) => {
  try {
    const wanted = parseArguments(process.argv.slice(2))
    if (wanted.help) {
      console.log(USAGE)
      return
    }
    if (heading) log(heading(wanted))
    const held = await withServerProgram(() => run(wanted))
    if (!held) process.exitCode ||= 1
  } catch (error) {
    console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : complaint(error))
    process.exitCode ||= error instanceof UsageError ? 2 : 1
  }
}

const withServerProgram = async (run) => {
  const program = await provideServerProgram({ log })
  process.env.PATH = program.path
  try {
    return await run()
  } finally {
    await program.remove()
  }
}
