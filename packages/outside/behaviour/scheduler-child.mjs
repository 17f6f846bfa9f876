// One job of one scheduler, in a process of its own: by a clock of Node's that moves, or by the real one. Arguments: the kind,
// the pattern, `from to step` of a moving clock or `real ms`, and what the task does.
import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Cron } from 'croner'
import { CronJob } from 'cron'
import nodeCron from 'node-cron'
import nodeSchedule from 'node-schedule'

const [, , kind, pattern, clock, task = 'note'] = process.argv
const [how, ...rest] = clock.split(' ')
const sleep = (
  (wait) => (ms) =>
    new Promise((resolve) => wait(resolve, ms))
)(setTimeout)
const timeZone = process.env.ZONE
const START = {
  croner: (run) => new Cron(pattern, (self) => run(self.previousRun?.())),
  cron: (run) => new CronJob(pattern, () => run()).start(),
  'node-schedule': (run) => nodeSchedule.scheduleJob(pattern, (at) => run(at)),
  'node-cron': (run) => nodeCron.schedule(pattern, ({ date }) => run(date), { timezone: timeZone }),
}
const runs = []
let running = 0
let most = 0
const TASKS = {
  note: async () => undefined,
  long: () => sleep(2_500),
  rejects: () => Promise.reject(new Error('of the task')),
  throws: () => {
    throw new Error('of the task')
  },
}
const run = async (tick) => {
  runs.push([new Date().toISOString(), tick === undefined ? null : Number(tick)])
  most = Math.max(most, (running += 1))
  await TASKS[task]()
  running -= 1
}
const told =
  task === 'throws'
    ? () => {
        runs.push([new Date().toISOString(), null])
        TASKS.throws()
      }
    : run

if (how === 'moving') {
  const [from, to, step] = [Date.parse(rest[0]), Date.parse(rest[1]), Number(rest[2])]
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: from })
  START[kind](told)
  for (let at = from; at < to; at += step) {
    mock.timers.tick(step)
    await turn()
  }
  process.send({ runs })
} else {
  let started
  try {
    started = START[kind](told)
  } catch {
    process.send({ thrown: true })
  }
  if (started === null) process.send({ isNull: true })
  if (how === 'blocked') {
    await sleep(2_500 - (Date.now() % 1_000))
    const from = Date.now()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_700 - (from % 1_000))
    const next = Math.ceil(Date.now() / 1_000) * 1_000
    await sleep(150)
    const after = runs.filter(([at]) => Date.parse(at) >= from && Date.parse(at) < next)
    process.send({ runs: after, next })
  } else if (how === 'real') {
    await sleep(Number(rest[0]))
    process.send({ runs, most })
  }
}
