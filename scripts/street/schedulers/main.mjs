// The recipes of docs/schedule.md: three processes, one of them with an event loop that is late, and each tick of each
// scheduler runs once. Then the nights on which the clocks change, by a clock of Node's own.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mock } from 'node:test'
import { setImmediate, setInterval } from 'node:timers'
import { exclusive } from '@holdfast/core/schedule'
import { LockClient } from '@holdfast/core'
import { Cron } from 'croner'
import { CronJob } from 'cron'
import { Redis } from 'ioredis'
import nodeCron from 'node-cron'
import nodeSchedule from 'node-schedule'

const isShort = process.argv.includes('--short')
const TICKS = isShort ? 10 : 100
const tickOf = (job) => job.previousRuns(1, new Date(Math.floor(Date.now() / 1_000 + 1) * 1_000))[0]
const zone = 'Europe/Berlin'

/** How each is called, with the tick that it provides. */
const SCHEDULERS = {
  croner: (pattern, call) => new Cron(pattern, { timezone: zone }, (self) => call(tickOf(self))),
  cron: (pattern, call) =>
    CronJob.from({ cronTime: pattern, onTick: () => call(), start: true, timeZone: zone }),
  'node-schedule': (rule, call) => nodeSchedule.scheduleJob({ rule, tz: zone }, (fireDate) => call(fireDate)),
  'node-cron': (pattern, call) => nodeCron.schedule(pattern, ({ date }) => call(date), { timezone: zone }),
}

/** UTC hour and minute of each run, as the table has them. */
const NIGHTS = [
  [
    '2027-03-28T00:00:00Z',
    3,
    '30 2 * * *',
    { croner: ['01:00'], cron: ['01:00'], 'node-schedule': ['01:30'], 'node-cron': [] },
  ],
  [
    '2027-10-30T23:00:00Z',
    4,
    '30 2 * * *',
    { croner: ['00:30'], cron: ['00:30'], 'node-schedule': ['00:30'], 'node-cron': ['01:30'] },
  ],
  ['2027-10-30T23:59:30Z', 3, '*/30 * * * *', { croner: 6, cron: 6, 'node-schedule': 6, 'node-cron': 4 }],
]

const fleet = async (name, isLate) => {
  const locks = await LockClient.connect(process.env.REDIS_URL)
  const redis = new Redis(process.env.REDIS_URL)
  for (const [kind, schedule] of Object.entries(SCHEDULERS)) {
    const everyMs = kind === 'cron' ? 1_000 : undefined
    const task = ({ tick }) => redis.hincrby(`${name}:runs:${kind}`, tick.getTime(), 1)
    const report = exclusive(`${name}:${kind}`, { locks, everyMs }, task)
    schedule(
      '* * * * * *',
      (tick) => void report({ tick }).catch((error) => console.log(kind, error.message)),
    )
  }
  if (isLate) {
    setInterval(() => {
      const until = Date.now() + 700
      while (Date.now() < until);
    }, 1_700)
  }
  setTimeout(() => process.exit(), (TICKS + 3) * 1_000)
}

const night = async (kind, from, hours, pattern) => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.parse(from) })
  const runs = []
  SCHEDULERS[kind](pattern, () => runs.push(new Date().toISOString().slice(11, 16)))
  for (let seconds = 0; seconds < hours * 3_600; seconds += 5) {
    mock.timers.tick(5_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  process.send(runs)
  process.exit()
}

const [, program, role, ...rest] = process.argv
if (role === 'fleet') {
  await fleet(rest[0], rest[1] === 'late')
} else if (role === 'night') {
  await night(rest[0], rest[1], Number(rest[2]), rest[3])
} else {
  const wrong = []
  const name = `street-${process.pid}`
  const size = isShort ? ['--short'] : []
  const exits = ['late', 'calm', 'calm'].map((how) =>
    once(fork(program, ['fleet', name, how, ...size]), 'exit'),
  )
  await Promise.all(exits)
  const redis = new Redis(process.env.REDIS_URL)
  for (const kind of Object.keys(SCHEDULERS)) {
    const runs = Object.values(await redis.hgetall(`${name}:runs:${kind}`)).map(Number)
    const isRight = runs.every((each) => each === 1) && runs.length >= TICKS
    console.log(
      `${isRight ? 'ok' : 'WRONG'}: ${kind}: ${runs.length} ticks, ${runs.filter((each) => each > 1).length} twice`,
    )
    if (!isRight) wrong.push(kind)
    await redis.del(`${name}:runs:${kind}`, `holdfast:ticks:{${name}:${kind}}`)
  }
  redis.disconnect()
  // An older croner does not run a job in the hour that is left out.
  for (const [from, hours, pattern, expected] of process.env.STREET_VERSION === 'oldest' ? [] : NIGHTS) {
    for (const [kind, right] of Object.entries(expected)) {
      const child = fork(program, ['night', kind, from, String(hours), pattern], {
        execArgv: ['--no-warnings'],
      })
      const [runs] = await once(child, 'message')
      const isRight = String(typeof right === 'number' ? runs.length : runs) === String(right)
      if (!isRight) wrong.push(kind)
      console.log(`${isRight ? 'ok' : 'WRONG'}: ${kind}, ${pattern} from ${from}: ${runs}`)
    }
  }
  process.exitCode = wrong.length > 0 ? 1 : 0
}
