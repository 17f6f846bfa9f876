import { ticksOf } from '@holdfast/core/schedule'
import { openLocks } from './open-locks.mjs'
import { LOCK_IS_BROKEN, STEP_LIMIT_MS } from './settings.mjs'
import { within } from './time.mjs'

const PROCESSES = 4
const TICKS = 12
const PERIOD_MS = 200
const LEASE_MS = 700
const DEADLY = 4

export const title = `Schedule: ${TICKS} ticks in ${PROCESSES} processes, one is killed while it runs tick ${DEADLY}`

/** @param {import('./stage.mjs').Stage} stage */
export const play = async ({ crew, prefix, say }) => {
  const name = `${prefix}:report`
  const names = Array.from({ length: PROCESSES }, (_, index) => `timer-${index + 1}`)
  const workers = await crew.start(names, { leaseMs: LEASE_MS })
  const runs = []
  const told = []
  let victim
  for (const worker of workers) {
    worker.on('ran', ({ tick, missed }) => {
      runs.push(tick)
      told.push(...missed)
      if (tick !== DEADLY || victim) return
      victim = worker
      say(`tick ${tick} is run by ${worker.name} (pid ${worker.pid}), which dies of SIGKILL`)
      worker.kill()
    })
  }
  const when = { name, startAt: Date.now() + 100, periodMs: PERIOD_MS, ticks: TICKS, deadly: DEADLY }
  const ends = workers.map((worker) => worker.call('keepTime', when).catch(() => undefined))
  await within(Promise.all(ends), STEP_LIMIT_MS, 'end of the schedule')
  const states = await statesOf(crew.redisUrl, name)
  await Promise.all(workers.filter((worker) => worker !== victim).map((worker) => worker.end()))
  say(`${begunOf(runs, states)}; told to a later run: ${inWords(told)}`)
  return { claims: claimsOf({ runs, told, states }) }
}

/** The ticks that Redis keeps, by number. */
const statesOf = async (redisUrl, name) => {
  if (LOCK_IS_BROKEN) return new Map()
  const locks = await openLocks(redisUrl, {})
  try {
    return new Map((await ticksOf(locks, name)).map(({ tick, state }) => [Number(tick), state]))
  } finally {
    await locks.close()
  }
}

/** The run of the killed process is begun as well. Nothing is kept of runs without a lock. */
const begunOf = (runs, states) => {
  const unfinished = runs.filter((tick) => states.get(tick) === 'unfinished').length
  return states.size > 0 ? `${runs.length} begun, ${unfinished} of them unfinished` : `${runs.length} begun`
}

const inWords = (ticks) =>
  ticks.length > 0 ? [...ticks].sort((one, other) => one - other).join(' ') : 'none'

const claimsOf = ({ runs, told, states }) => {
  const all = Array.from({ length: TICKS }, (_, index) => index + 1)
  const once = all.filter(
    (tick) => runs.filter((each) => each === tick).length === 1 && states.get(tick) === 'done',
  )
  const twice = all.filter((tick) => runs.filter((each) => each === tick).length > 1)
  const others = all.filter((tick) => !once.includes(tick) && told.includes(tick))
  return [
    {
      claim: 'A schedule in four processes runs once per tick',
      expected: `${TICKS} ticks, each done in one run or told to a later run`,
      seen: `${once.length} done in one run, ${others.length} told to a later run, ${twice.length} begun more than once`,
      ok: once.length + others.length === TICKS && twice.length === 0 && once.length > TICKS / 2,
    },
    {
      claim: 'What a killed process was running is known',
      expected: `tick ${DEADLY}: unfinished, told to the next run`,
      seen: `tick ${DEADLY}: ${states.get(DEADLY) ?? 'nothing is known'}${told.includes(DEADLY) ? ', told to the next run' : ''}`,
      ok: states.get(DEADLY) === 'unfinished' && told.includes(DEADLY),
    },
  ]
}
