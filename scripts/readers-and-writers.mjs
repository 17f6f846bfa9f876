// Random reads and writes of several processes behind one read-write lock, without faults, and what the history
// checker says of them. `npm run test:read-write -- --help`.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer } from '@holdfast/testing'
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './readers-and-writers/arguments.mjs'
import { Crew } from './readers-and-writers/crew.mjs'
import { verdict } from './readers-and-writers/verdict.mjs'
import { openHistory, readHistories } from './torture/history-file.mjs'
import { leftBehind } from './torture/verdict.mjs'
import { runScript } from './script-main.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

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

await runScript({
  ...{ parseArguments, USAGE },
  heading: ({ operations, processes, callers, seed }) =>
    `seed ${seed}, ${operations} operations of ${processes} processes with ${callers} callers each`,
  run: async (wanted) => {
    const { text, isGood } = await readAndWrite(wanted)
    console.log(text)
    return isGood
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
