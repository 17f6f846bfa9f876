// Fail-overs that lose locks, again and again: how soon is a holder told? What the figures mean: docs/reliability.md.
import { FaultProxy, RedisReplication } from '@holdfast/testing'
import { UsageError } from './command-line.mjs'
import { parseArguments, USAGE } from './failover/arguments.mjs'
import { stepClock } from './failover/clock-steps.mjs'
import { failOverOnce } from './failover/round.mjs'
import { verdict } from './failover/verdict.mjs'
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'

const PROGRESS_MS = 5_000
const log = (line) => console.error(line)
const interrupted = interruption()

const main = async (wanted) => {
  const program = await provideServerProgram({ log })
  process.env.PATH = program.path
  try {
    const results = [verdict(await failOverAgain(wanted), wanted), await stepClock(wanted, interrupted)]
    return {
      text: results.map(({ text }) => text).join('\n'),
      broken: results.reduce((sum, { broken }) => sum + broken, 0),
    }
  } finally {
    await program.remove()
  }
}

const failOverAgain = async ({ rounds, locks, leaseMs }) => {
  const replication = await RedisReplication.start()
  const address = await FaultProxy.start(replication.primary)
  const done = []
  let toldAt = performance.now()
  try {
    while (done.length < rounds) {
      interrupted.throwIfAborted()
      done.push(await failOverOnce({ replication, address, leaseMs, locks, signal: interrupted }))
      const [former] = replication.replicas
      await former.restart()
      await replication.healReplication()
      await replication.primary.command('FLUSHALL')
      if (performance.now() - toldAt >= PROGRESS_MS) {
        toldAt = performance.now()
        log(`${done.length} of ${rounds} fail-overs`)
      }
    }
    return done
  } finally {
    await address.stop()
    await replication.stop()
  }
}

try {
  const wanted = parseArguments(process.argv.slice(2))
  if (wanted.help) {
    console.log(USAGE)
  } else {
    const { text, broken } = await main(wanted)
    console.log(text)
    if (broken > 0) process.exitCode ||= 1
  }
} catch (error) {
  if (interrupted.aborted) console.error(interrupted.reason.message)
  else console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
