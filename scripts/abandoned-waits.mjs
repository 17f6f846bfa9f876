// A hundred thousand callers for locks that others have, who go at any instant of it: none leaves a trace (I8). What it
// shows: docs/reliability.md.
import { UsageError } from './command-line.mjs'
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'
import { parseArguments, USAGE } from './abandoned-waits/arguments.mjs'
import { abandonWaits } from './abandoned-waits/run.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const main = async ({ waits, seed, kind }) => {
  const program = await provideServerProgram({ log })
  process.env.PATH = program.path
  const startedAt = performance.now()
  try {
    console.log(`${waits} waits for a ${kind}, seed ${seed}`)
    const figures = await abandonWaits({ waits, seed, kind }, { interrupted, log })
    console.log(`${describe(figures)}\n  ${Math.round((performance.now() - startedAt) / 1000)} s`)
    console.log('Nothing was left behind.')
  } finally {
    await program.remove()
  }
}

const describe = ({ aborted, timedOut, won, unanswered, parked, late, taken, longestMs, growth }) =>
  [
    `  ${aborted} aborted, ${timedOut} timed out, ${won} won, ${unanswered} without an answer; ${parked} had begun to wait`,
    `  ${late} came too late for their caller and were given back; others took the locks ${taken} times`,
    `  longest call ${Math.round(longestMs)} ms; heap after to heap before ${growth.toFixed(3)}`,
  ].join('\n')

try {
  const wanted = parseArguments(process.argv.slice(2))
  if (wanted.help) console.log(USAGE)
  else await main(wanted)
} catch (error) {
  if (error instanceof UsageError) console.error(`${error.message}\n\n${USAGE}`)
  else console.error(error.name === 'Violation' ? `A violation: ${error.message}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
