import { setTimeout as sleep } from 'node:timers/promises'
import { pushTimes } from './push-chain.mjs'
import { figure } from './report/table.mjs'
import { quantile } from './statistics.mjs'
import { warmUp } from './warm-up.mjs'
import { openIn } from './workers.mjs'

/** At least as long as a waiter needs to stand still, and as long again, so that no poll is in step with it. */
const BEFORE_MS = 60

/** The floor, without a lock: a script publishes, the other process hears it. */
const FLOOR = 'a push without a lock'

/**
 * One of two processes holds, the other waits: how long from the beginning of the unlock until the other has the lock, of
 * each variant in turns.
 *
 * @param {import('@holdfast/faults/harness').WorkerProcess[]} workers two
 * @param {import('./variants.mjs').Variant[]} wanted
 * @param {{ times: number, spreadMs: number, warmUpMs?: number }} how
 * @param {import('./context.mjs').Context} context
 */
export const wakeUps = async (workers, wanted, { times, spreadMs, warmUpMs }, context) => {
  const variants = []
  for (const each of wanted) {
    if (!context.isChosen(`wake-up: ${each.name}`)) continue
    if (await openIn(workers, each, context)) variants.push(each)
  }
  await warmUp(workers, variants, { ms: warmUpMs }, context)
  const taken = new Map(variants.map((each) => [each, { ms: [], gaveUp: 0 }]))
  const pushes = []
  for (let i = 0; i < times; i += 1) {
    context.log(`wake-up: ${i + 1} of ${times}`)
    for (const variant of variants) {
      const ms = await once(workers, variant, context.name('wake', variant.name, String(i)), spreadMs)
      if (ms === null) taken.get(variant).gaveUp += 1
      else taken.get(variant).ms.push(ms)
    }
    pushes.push(...(await pushTimes(workers, { times: 1, pauseMs: () => pauseMs(spreadMs) }, context)))
  }
  const floor = resultOf({ name: FLOOR, kind: 'floor' }, { ms: pushes, gaveUp: 0 })
  return { times, results: [floor, ...variants.map((each) => resultOf(each, taken.get(each)))] }
}

export const wakeUpProblems = ({ results, times }) =>
  results.flatMap(({ name, woken, gaveUp }) =>
    woken + gaveUp === times ? [] : [`${name}: ${woken} of ${times} wake-ups`],
  )

export const wakeUpTable = (title, results) => ({
  title,
  head: ['contestant', 'p50 ms', 'p95 ms', 'longest ms', 'gave up'],
  rows: results.map(({ name, p50, p95, longest, gaveUp }) => [
    name,
    ...[p50, p95, longest].map(figure),
    `${gaveUp}`,
  ]),
})

const pauseMs = (spreadMs) => BEFORE_MS + Math.random() * spreadMs

const once = async ([holder, waiter], { name: variant }, name, spreadMs) => {
  await holder.call('hold', { variant, name })
  const waiting = waiter.call('waitFor', { variant, name })
  await sleep(pauseMs(spreadMs))
  const from = await holder.call('letGo', { name })
  const to = await waiting
  return to === null ? null : (to - from) / 1e6
}

const resultOf = ({ name, kind }, { ms, gaveUp }) => ({
  name,
  kind,
  woken: ms.length,
  gaveUp,
  ...(ms.length > 0 ? { p50: quantile(ms, 0.5), p95: quantile(ms, 0.95), longest: Math.max(...ms) } : {}),
})
