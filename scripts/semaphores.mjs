// Semaphores and count-down latches with callers of several processes that are killed, or whose wires and Redis are
// broken: what is in use at any moment, and what is there at rest. docs/semaphores.md has the figures.
import { UsageError } from './command-line.mjs'
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'
import { parseArguments, USAGE } from './semaphores/arguments.mjs'
import { report } from './semaphores/report.mjs'
import { run } from './semaphores/run.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const main = async (wanted) => {
  const program = await provideServerProgram({ log })
  process.env.PATH = program.path
  try {
    return await run(wanted, { interrupted, log })
  } finally {
    await program.remove()
  }
}

try {
  const wanted = parseArguments(process.argv.slice(2))
  if (wanted.help) {
    console.log(USAGE)
  } else {
    const { seed, seconds, processes, callers, faults } = wanted
    log(
      `seed ${seed}, ${seconds} s, ${processes} processes with ${callers} callers each, ${faults.join(', ')}`,
    )
    const result = await main(wanted)
    console.log(wanted.json ? JSON.stringify(result) : report(result, wanted))
    if (result.problems.length > 0) process.exitCode ||= 1
  }
} catch (error) {
  if (interrupted.aborted) console.error(interrupted.reason.message)
  else console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
