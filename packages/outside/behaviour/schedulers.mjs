// Facts about schedulers: the nights on which clocks change, late event loops, and tasks that last or fail.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packagesOf } from './packages.mjs'

const KINDS = {
  'croner 11': 'croner',
  'cron 4': 'cron',
  'node-schedule 2': 'node-schedule',
  'node-cron 4': 'node-cron',
}
export const columns = Object.keys(KINDS)
export const last = 'what follows'
export const quickColumn = 'croner 11'
/** The columns run beside each other. */
export const atOnce = true
const VERSIONS = { cron: '4.4.0', croner: '11.0.1', 'node-cron': '4.6.0', 'node-schedule': '2.1.1' }
const ZONE = 'Europe/Berlin'

let fetching
export const open = async (column) => {
  fetching ??= packagesOf('schedulers', VERSIONS)
  const packages = await fetching
  if (packages.reason) return packages
  const program = join(packages.folder, 'child.mjs')
  await copyFile(join(import.meta.dirname, 'scheduler-child.mjs'), program)
  const kind = KINDS[column]
  return {
    /** Messages of a job, or how its process ended: with a code, or not within the time. */
    run: (run) =>
      run(async (pattern, clock, task = 'note', ms = 15_000) => {
        // In a process of that zone, node-cron does not come to an end on such a night by a clock that moves.
        const env = { ...process.env, ZONE, ...(kind !== 'node-cron' && { TZ: ZONE }) }
        const child = fork(program, [kind, pattern, clock, task], {
          env,
          silent: true,
          execArgv: ['--no-warnings'],
        })
        const said = once(child, 'message').then(([message]) => message)
        const ended = once(child, 'exit').then(([code]) => ({ code }))
        const answer = await Promise.race([said, ended, sleep(ms, {})])
        child.kill('SIGKILL')
        return answer
      }),
    close: () => undefined,
  }
}

const SPRING = '2027-03-28'
const night = (what, pattern, [from, to, step = 5_000], tell) => ({
  ...{ what, group: 'In the nights on which the clocks change' },
  run: async (job) => tell((await job(pattern, `moving ${from} ${to} ${step}`)).runs.map(([at]) => at)),
})
const times = (runs) => (runs.length > 0 ? runs.map((at) => at.slice(11, 16)).join(', ') : '**not at all**')
const count = (runs) => `${runs.length} runs`

export const rows = [
  night('`30 2 * * *` in March', '30 2 * * *', [`${SPRING}T00:00:00Z`, `${SPRING}T03:00:00Z`], times),
  night('`0 2 * * *` in March', '0 2 * * *', [`${SPRING}T00:00:00Z`, `${SPRING}T03:00:00Z`], times),
  night(
    '`30 * * * *` in March, 00:00 to 03:00',
    '30 * * * *',
    [`${SPRING}T00:00:00Z`, `${SPRING}T03:00:00Z`],
    times,
  ),
  night('`30 2 * * *` in October', '30 2 * * *', ['2027-10-30T23:00:00Z', '2027-10-31T03:00:00Z'], times),
  night(
    '`*/30 * * * *` in October, 00:00 to 02:30',
    '*/30 * * * *',
    ['2027-10-30T23:59:30Z', '2027-10-31T02:59:30Z'],
    count,
  ),
  ...[
    {
      what: 'each second, the event loop blocked for 3.2 s: runs for the seconds that passed',
      run: async (job) => `${(await job('* * * * * *', 'blocked')).runs.length} of 3`,
    },
    {
      what: 'the time that the task is given then',
      run: async (job) => {
        const { runs, next } = await job('* * * * * *', 'blocked')
        const [[at, tick]] = runs
        if (tick === null) return 'none'
        // The time of a run is a whole second too, once in a while.
        if (Math.abs(Date.parse(at) - tick) < 500) return 'the time of the run'
        return tick % 1_000 === 0
          ? `the second ${runs.map(([, each]) => `−${(next - each) / 1_000}`).join(', ')}`
          : 'the time of the run before'
      },
    },
    {
      what: 'each second, a task of 2.5 s: runs at a time',
      isQuick: true,
      run: async (job) => ((await job('* * * * * *', 'real 5200', 'long')).most > 1 ? 'several' : 'one'),
    },
    ...[
      ['rejects', 'a task whose promise rejects'],
      ['throws', 'a task that throws'],
    ].map(([task, what]) => ({
      what,
      run: async (job) => {
        const { code, runs } = await job('* * * * * *', 'real 3300', task)
        return code === undefined ? (runs.length > 1 ? 'goes on' : 'runs once only') : 'ends the process'
      },
    })),
    {
      what: 'a process that has nothing but the job, due in January',
      run: async (job) => ('code' in (await job('0 0 1 1 *', 'none', 'note', 2_000)) ? 'ends' : 'stays'),
    },
    {
      what: 'the pattern `61 * * * *`',
      isQuick: true,
      run: async (job) => {
        const { thrown, isNull } = await job('61 * * * *', 'real 300')
        return thrown ? 'throws' : isNull ? '**returns null**' : 'taken'
      },
    },
    ...[
      ['0 1 13 * 5', 'from 12 to 21 November 2026 (the 13th is a Friday)'],
      ['0 1 * * 7', 'in that time'],
    ].map(([pattern, when]) => ({
      what: `\`${pattern}\` ${when}`,
      run: async (job) => {
        const { runs } = await job(pattern, 'moving 2026-11-12T12:00:00Z 2026-11-21T12:00:00Z 60000')
        return runs.length > 0 ? runs.map(([at]) => at.slice(5, 10)).join(', ') : 'not at all'
      },
    })),
    {
      what: '`0 0 30 2 *`, which is never',
      run: async (job) => {
        const { thrown, isNull, code } = await job('0 0 30 2 *', 'real 700', 'note', 5_000)
        return thrown ? 'throws' : isNull ? 'returns null' : code === undefined ? 'taken' : 'ends the process'
      },
    },
  ].map((row) => ({ group: 'Late, long, failing and odd', ...row })),
]
