// Fail-overs, and slots that move, while locks are contended for: how long until they work again, what is lost, and
// whether a caller gets what another one believes to have.
import { setTimeout as sleep } from 'node:timers/promises'
import { count, oneOf, someOf } from '../run/options.js'
import { seededRandom } from '../harness/seeded-random.js'
import { defineScenario, type Run } from '../run/scenario.js'
import { median, table } from '../run/table.js'
import { CHANGES, type Change, type ChangeName, type Group } from './under-load/changes.js'
import { CARRIERS } from '../workload/carriers.js'
import { Contenders } from './under-load/contenders.js'

const SETTLED_MS = 500
const STUCK_MS = 30_000

const options = {
  only: someOf(Object.keys(CHANGES) as ChangeName[], 'changes of the servers'),
  client: oneOf(CARRIERS, 'whose Sentinel client and cluster'),
  rounds: count(3, 'times each of them', { most: 100 }),
  locks: count(12, 'locks that are contended for, all over the slots', { most: 1_000 }),
  flows: count(24, 'callers of two clients, each takes lock after lock', { most: 1_000 }),
}

interface Result {
  readonly name: string
  readonly promise: Change['promise']
  readonly againMs: number[]
  wrong: number
  lost: number
  stuck: number
  errors: number
}

export const underLoad = defineScenario({
  name: 'under-load',
  summary: 'Fail-overs and moving slots on Sentinel and clusters while locks are contended for.',
  options,
  smoke: '--only sentinel-planned --rounds 1',
  long: '',

  async run(run) {
    const results: Result[] = []
    for (const name of run.options.only) {
      run.progress(name)
      results.push(await changeOften(run, name))
    }
    return {
      figures: results,
      report: table([HEAD, ...results.map(row)]),
      violations: [
        ...results.flatMap(({ name, promise, wrong, stuck }) => [
          ...(stuck > 0 ? [`I4 ${name}: ${stuck} times a lock was not granted within ${STUCK_MS} ms`] : []),
          ...(promise === 'no wrong grant' && wrong > 0
            ? [`I1 ${name}: ${wrong} grants beside a holder`]
            : []),
        ]),
      ],
    }
  },
})

/** One change, so many times, on one group of servers. */
const changeOften = async (run: Run<typeof options>, name: ChangeName): Promise<Result> => {
  const { rounds, locks, flows } = run.options
  const { promise, options: own, start }: Change = CHANGES[name]
  const group = await start(run.options.client)
  const result: Result = { name, promise, againMs: [], wrong: 0, lost: 0, stuck: 0, errors: 0 }
  try {
    for (let round = 0; round < rounds; round += 1) {
      run.interrupted.throwIfAborted()
      const names = Array.from({ length: locks }, (_, i) => `order:${round}:${i}`)
      const random = seededRandom(run.seed * 1_000 + round)
      const load = await Contenders.start({
        connect: () => group.connect(),
        names,
        flows,
        options: own,
        random,
      })
      try {
        await changeOnce(group, load, { names, result, interrupted: run.interrupted })
      } finally {
        await load.end()
      }
      result.wrong += load.wrong
      result.lost += load.lost
      result.errors += load.errors
      if (round + 1 < rounds) await group.heal()
    }
    return result
  } finally {
    await group.stop()
  }
}

const changeOnce = async (
  group: Group,
  load: Contenders,
  { names, result, interrupted }: { names: readonly string[]; result: Result; interrupted: AbortSignal },
): Promise<void> => {
  const limit = AbortSignal.any([interrupted, AbortSignal.timeout(STUCK_MS)])
  await load.workAgain(names, limit)
  const { affected, change } = await group.prepare(names)
  // Counted from the request: what is granted before it takes effect is granted by the former primary.
  const before = performance.now()
  await change()
  const changedMs = performance.now() - before
  try {
    result.againMs.push(changedMs + (await load.workAgain(affected, limit)))
  } catch {
    interrupted.throwIfAborted()
    result.stuck += 1
  }
  await sleep(SETTLED_MS)
}

const inMs = (value: number): string => (Number.isFinite(value) ? `${Math.round(value)} ms` : '–')

const HEAD = ['', 'works again', 'at most', 'lost', 'stuck', 'wrong grants', 'promised']

const row = ({ name, promise, againMs, wrong, lost, stuck }: Result): string[] => [
  name,
  inMs(median(againMs)),
  inMs(Math.max(...againMs)),
  ...[lost, stuck, wrong].map(String),
  promise,
]
