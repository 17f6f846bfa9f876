// Random reads and writes of several processes behind one read-write lock, without faults, and what the history
// checker says of them. `npm run test:read-write -- --help`.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer } from '@holdfast/testing'
import { UsageError } from './command-line.mjs'
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'
import { parseArguments, USAGE } from './readers-and-writers/arguments.mjs'
import { Crew } from './readers-and-writers/crew.mjs'
import { verdict } from './readers-and-writers/verdict.mjs'
import { openHistory, readHistories } from './torture/history-file.mjs'
import { leftBehind } from './torture/verdict.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const main = async (wanted) => {
  const program = await provideServerProgram({ log })
  process.env.PATH = program.path
  try {
    return await readAndWrite(wanted)
  } finally {
    await program.remove()
  }
}

const readAndWrite = async (wanted) => {
  const redis = await RedisServer.start()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-readers-and-writers-'))
  const file = join(folder, 'run.jsonl')
  const history = openHistory(file, 'run')
  const crew = new Crew(redis, { ...wanted, folder, log, interrupted })
  try {
    await crew.start()
    const mixed = await crew.mixed()
    const stream = await crew.stream()
    await crew.finish()
    history.add('end', await leftBehind(redis, { leaseMs: 0, settledMs: 0 }))
    const events = readHistories([...crew.files, file])
    if (wanted.history) {
      await writeFile(wanted.history, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    }
    return verdict(events, { mixed, stream })
  } finally {
    history.close()
    await crew.stop()
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

try {
  const wanted = parseArguments(process.argv.slice(2))
  if (wanted.help) {
    console.log(USAGE)
  } else {
    const { operations, processes, callers, seed } = wanted
    log(`seed ${seed}, ${operations} operations of ${processes} processes with ${callers} callers each`)
    const { text, isGood } = await main(wanted)
    console.log(text)
    if (!isGood) process.exitCode ||= 1
  }
} catch (error) {
  if (interrupted.aborted) console.error(interrupted.reason.message)
  else console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
