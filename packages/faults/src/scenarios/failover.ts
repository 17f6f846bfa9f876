// Fail-overs that lose locks, again and again: how soon is a holder told?
// What the figures mean: docs/reliability.md.
import { FaultProxy, RedisReplication } from '@holdfast/faults/harness'
import { count, ms } from '../run/options.js'
import { defineScenario } from '../run/scenario.js'
import { failOverOnce, type Round } from './failover/round.js'
import { verdictOf } from './failover/verdict.js'

const PROGRESS_MS = 5_000

export const failover = defineScenario({
  name: 'failover',
  summary: 'How soon a holder is told that a fail-over lost its lock.',
  options: {
    rounds: count(20, 'fail-overs of a primary whose replica gets nothing', { most: 1_000 }),
    locks: count(5, 'locks that are lost in each, and as many that are not', { most: 1_000 }),
    lease: ms(1_500, 'how long a lock lasts without renewal', { least: 1, most: 60_000 }),
    allowance: ms(
      250,
      'how much later than a third of a lease a holder may be told: to connect again, for a retry',
      {
        least: 1,
        most: 60_000,
      },
    ),
  },
  smoke: '--rounds 1',
  long: '',

  async run({ options, random, interrupted, after, progress }) {
    const { rounds, locks, lease: leaseMs, allowance: allowanceMs } = options
    const replication = await RedisReplication.start()
    after(() => replication.stop())
    const address = await FaultProxy.start(replication.primary)
    after(() => address.stop())
    const done: Round[] = []
    let toldAt = performance.now()
    while (done.length < rounds) {
      interrupted.throwIfAborted()
      done.push(await failOverOnce({ replication, address, leaseMs, locks, random, interrupted }))
      const [former] = replication.replicas
      await former?.restart()
      await replication.healReplication()
      await replication.primary.command('FLUSHALL')
      if (performance.now() - toldAt < PROGRESS_MS) continue
      toldAt = performance.now()
      progress(`${done.length} of ${rounds} fail-overs`)
    }
    const { figures, ...failOvers } = verdictOf(done, { leaseMs, allowanceMs, locks })
    return {
      figures,
      report: failOvers.lines,
      violations: failOvers.violations,
    }
  },
})
