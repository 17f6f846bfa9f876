// Fail-overs that lose locks, again and again: how soon is a holder told? What the figures mean: docs/reliability.md.
import { FaultProxy, RedisReplication } from '@holdfast/testing'
import { parseArguments, USAGE } from './failover/arguments.mjs'
import { stepClock } from './failover/clock-steps.mjs'
import { failOverOnce } from './failover/round.mjs'
import { verdict } from './failover/verdict.mjs'
import { interruption } from './interruption.mjs'
import { runScript } from './script-main.mjs'

const PROGRESS_MS = 5_000
const log = (line) => console.error(line)
const interrupted = interruption()

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

await runScript({
  ...{ parseArguments, USAGE },
  run: async (wanted) => {
    const results = [verdict(await failOverAgain(wanted), wanted), await stepClock(wanted, interrupted)]
    console.log(results.map(({ text }) => text).join('\n'))
    return results.every(({ broken }) => broken === 0)
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
