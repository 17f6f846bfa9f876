import { setTimeout as sleep } from 'node:timers/promises'
import { LONG_LEASE_MS, LONG_WORK_MS, STEP_LIMIT_MS } from './settings.mjs'
import { inMs } from './terminal.mjs'
import { nowMs, within } from './time.mjs'

export const title = `Long work: ${inMs(LONG_WORK_MS)} under a lease of ${inMs(LONG_LEASE_MS)}`

/** @param {import('./stage.mjs').Stage} stage */
export const play = async ({ crew, redis, prefix, say }) => {
  const lockName = `${prefix}:long-lock`
  const [holder, rival] = await crew.start(['holder', 'rival'], { leaseMs: LONG_LEASE_MS })
  const work = holder.call('work', { lockName, workMs: LONG_WORK_MS })
  const { owner, at: startedAt } = await within(holder.first('in'), STEP_LIMIT_MS, 'holder')
  say(`holder (pid ${holder.pid}) works; rival (pid ${rival.pid}) asks tryLock() again and again ...`)

  const trying = rival.call('rival', { lockName, everyMs: 100 })
  const samples = await sampleUntil(holder.first('worked'), { redis, lockName, owner, startedAt, say })
  await rival.call('stopRival')
  const attempts = await trying
  await holder.call('leave')
  const worked = await work
  const last = await rival.call('attempt', { lockName })
  say(`the holder has left; tryLock() now: ${last.gotIn}`)
  await Promise.all([holder, rival].map((worker) => worker.end()))

  const run = { startedAt, samples, attempts, worked, last }
  return { claims: claimsOf(run), panel: panelOf(run, holder, rival) }
}

/** PTTL every 25 ms, and whether the lock is still that of the same acquisition. */
const sampleUntil = async (ended, { redis, lockName, owner, startedAt, say }) => {
  const samples = []
  let going = true
  let leases = 0
  const stop = () => (going = false)
  ended.then(stop, stop)
  while (going) {
    const [[, pttl], [, count]] = await redis.pipeline().pttl(lockName).hget(lockName, owner).exec()
    const at = nowMs() - startedAt
    samples.push({ at, pttl, same: count === '1' })
    if (at > (leases + 1) * LONG_LEASE_MS) {
      leases += 1
      say(`${leases} lease${leases === 1 ? '' : 's'} long: PTTL ${inMs(pttl)}`)
    }
    await sleep(25)
  }
  await ended
  return samples
}

const isKept = (samples) => samples.every(({ pttl, same }) => pttl > 0 && same)

const renewalsIn = (samples) =>
  samples.filter(({ pttl }, index) => index > 0 && pttl > samples[index - 1].pttl + 50).length

const claimsOf = ({ startedAt, samples, attempts, worked, last }) => {
  const lowest = Math.min(...samples.map(({ pttl }) => pttl))
  const workedMs = worked.to - startedAt
  const refused = attempts.filter(({ gotIn }) => !gotIn).length
  const kept = isKept(samples)
  const aborted = worked.abortedAfterMs !== undefined
  return [
    {
      claim: 'Work of three leases keeps its lock',
      isFigure: true,
      expected: `PTTL above 0 for ${inMs(3 * LONG_LEASE_MS)} and more, one owner`,
      seen: `lowest of ${samples.length} PTTLs ${inMs(lowest)} in ${inMs(workedMs)}, ${renewalsIn(samples)} renewals, ${kept ? 'one owner' : 'not kept'}`,
      ok: kept && workedMs >= 3 * LONG_LEASE_MS,
    },
    {
      claim: 'A second client stays out until it is free',
      expected: 'each tryLock() refused, the one after the release not',
      seen: `${refused} of ${attempts.length} refused, the one after the release ${last.gotIn ? 'not' : 'too'}`,
      ok: attempts.length > 0 && refused === attempts.length && last.gotIn,
    },
    {
      claim: 'The holder was never told that it lost it',
      expected: 'hold.signal not aborted, "released"',
      seen: `hold.signal ${aborted ? `aborted after ${inMs(worked.abortedAfterMs)}` : 'not aborted'}, "${worked.outcome}"`,
      ok: !aborted && worked.outcome === 'released',
    },
  ]
}

const panelOf = ({ startedAt, samples, attempts, worked, last }, holder, rival) => {
  const workedMs = worked.to - startedAt
  const mark = ({ at, gotIn }) => ({ at: at - startedAt, kind: gotIn ? 'let-in' : 'refused' })
  return {
    title: `Long work: the lock is ${isKept(samples) ? 'kept' : 'NOT kept'} for ${inMs(workedMs)} under a lease of ${inMs(LONG_LEASE_MS)}`,
    note: 'The watchdog renews every third of the lease; the rival, a second client, asks tryLock() all along',
    endMs: Math.max(workedMs, last.at - startedAt),
    lanes: [
      {
        label: holder.name,
        detail: `pid ${holder.pid}`,
        bars: [{ from: 0, to: Math.min(workedMs, worked.abortedAfterMs ?? Infinity), kind: 'holds' }],
      },
      { label: rival.name, detail: `pid ${rival.pid}`, bars: [], marks: [...attempts, last].map(mark) },
      {
        label: 'lease left',
        detail: 'PTTL',
        bars: [],
        curve: { top: LONG_LEASE_MS, points: samples.map(({ at, pttl }) => [at, Math.max(0, pttl)]) },
      },
    ],
  }
}
