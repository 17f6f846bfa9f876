// Measures what docs/reliability.md says of each failure: on a server of its own, several times, as a table.
import { parseOptions, UsageError, wholeNumber } from './command-line.mjs'
import { Lab } from './failures/lab.mjs'
import { MEASUREMENTS } from './failures/measurements.mjs'
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'

const USAGE = `Usage: node scripts/measure-failures.mjs [--rounds 20] [--only TEXT]

  --rounds  how often each is measured
  --only    measures only what has this in its name`

const log = (line) => console.error(line)
const interrupted = interruption()

const measure = async (run, rounds) => {
  const values = new Map()
  for (let round = 0; round < rounds; round += 1) {
    interrupted.throwIfAborted()
    const lab = await Lab.open()
    try {
      for (const [name, ms] of Object.entries(await run(lab))) {
        values.set(name, [...(values.get(name) ?? []), ms])
      }
    } finally {
      await lab.close()
    }
  }
  return values
}

const line = (row, what, name, all) => {
  const sorted = all.toSorted((a, b) => a - b)
  const ms = (at) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))].toFixed(1)
  return `| ${row} | ${what} | ${name} | ${ms(0)} | ${ms(0.5)} | ${ms(1)} |`
}

const main = async ({ rounds, only }) => {
  const program = await provideServerProgram({ log })
  process.env.PATH = program.path
  try {
    console.log(
      `| row | failure | ms, of ${rounds} | least | median | most |\n| --- | --- | --- | --- | --- | --- |`,
    )
    for (const [row, what, run] of MEASUREMENTS.filter(([, what]) => what.includes(only))) {
      log(`${row}: ${what}`)
      for (const [name, all] of await measure(run, rounds)) {
        console.log(line(row, what, name, all))
      }
    }
  } finally {
    await program.remove()
  }
}

try {
  const given = parseOptions(process.argv.slice(2), {
    rounds: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  })
  if (given.help) {
    console.log(USAGE)
  } else {
    await main({ rounds: wholeNumber('rounds', given.rounds, 1_000), only: given.only })
  }
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
