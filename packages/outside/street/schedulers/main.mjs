// docs/schedule.md, run: three processes, one of them with an event loop that is late, and each tick of each scheduler runs
// once; a Redis that is away ends no process. What schedulers do by themselves: npm run test:behaviour.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setInterval } from 'node:timers'
import { exclusive } from '@holdfast/core/schedule'
import { LockClient } from '@holdfast/core'
import { Cron } from 'croner'
import { CronJob } from 'cron'
import { Redis } from 'ioredis'
import nodeCron from 'node-cron'
import nodeSchedule from 'node-schedule'

const isShort = process.argv.includes('--short')
const TICKS = isShort ? 10 : 100
const PAGE = JSON.parse(readFileSync('recipes.json', 'utf8'))['docs/schedule.md']
const [TICK_OF] = /^function tickOf[^]*?^}/m.exec(PAGE.Schedules.blocks[0])
// Patterns of the page are in the zone of the process.
const env = { ...process.env, TZ: 'Europe/Berlin' }

/** The calls of the page, each a function of the pattern in its place, and of the schedule and the log that it names. */
const CALLS = Object.fromEntries(
  PAGE['Which tick'].rows.flatMap(([of, text]) => {
    const call = text.match(/`[^`]+`/g).findLast((each) => /'[\d* ]+'/.test(each))
    const kind = ['node-cron', 'croner', 'node-schedule', 'cron'].find((each) => `${of}, `.includes(each))
    if (!kind || !call) return []
    const code = call.slice(1, -1).replace(/'[\d* ]+'/, 'pattern')
    // In a process of that zone, node-cron does not come to an end on such a night by a clock that a test moves.
    const schedule = (at, task) => nodeCron.schedule(at, task, { timezone: 'Europe/Berlin' })
    const scope = { Cron, CronJob, schedule, scheduleJob: nodeSchedule.scheduleJob }
    const run = new Function(...Object.keys(scope), 'pattern', 'report', 'log', `${TICK_OF}\n${code}`)
    return [[kind, (pattern, report, log) => run(...Object.values(scope), pattern, report, log)]]
  }),
)

const fleet = async (name, isLate) => {
  const locks = await LockClient.connect(process.env.REDIS_URL)
  const redis = new Redis(process.env.REDIS_URL)
  for (const [kind, schedule] of Object.entries(CALLS)) {
    const everyMs = kind === 'cron' ? 1_000 : undefined
    const task = ({ tick }) => redis.hincrby(`${name}:runs:${kind}`, tick.getTime(), 1)
    const report = exclusive(`${name}:${kind}`, { locks, everyMs }, task)
    schedule('* * * * * *', report, (error) => console.log(kind, error.message))
  }
  if (isLate) {
    setInterval(() => {
      const until = Date.now() + 700
      while (Date.now() < until);
    }, 1_700)
  }
  setTimeout(() => process.exit(), (TICKS + 3) * 1_000)
}

/** No server answers. */
const away = (kind) => {
  const redis = new Redis(1, { retryStrategy: () => 100 }).on('error', () => undefined)
  const locks = new LockClient(redis, { unavailableTimeoutMs: 100 })
  const everyMs = kind === 'cron' ? 1_000 : undefined
  const report = exclusive('away', { locks, everyMs }, () => undefined)
  CALLS[kind]('* * * * * *', report, (error) => process.send([error.code]))
}

const [, program, role, ...rest] = process.argv
if (role === 'fleet') {
  await fleet(rest[0], rest[1] === 'late')
} else if (role === 'away') {
  away(rest[0])
} else {
  const wrong = []
  const judge = (isRight, kind, text) => {
    console.log(`${isRight ? 'ok' : 'WRONG'}: ${kind}${text}`)
    if (!isRight) wrong.push(kind)
  }
  /** Messages of a process of its own, or that it has ended. */
  const ask = async (...args) => {
    const ofProcess = args.includes('node-cron') ? process.env : env
    const child = fork(program, args, { env: ofProcess, execArgv: ['--no-warnings'] })
    const limit = setTimeout(() => child.kill('SIGKILL'), 120_000)
    const said = await Promise.race([once(child, 'message'), once(child, 'exit')])
    clearTimeout(limit)
    child.kill('SIGKILL')
    return said[0]
  }
  const kinds = Object.keys(CALLS)
  if (kinds.length !== 4) judge(false, `the page has calls of ${kinds}`, '')
  const name = `street-${process.pid}`
  const size = isShort ? ['--short'] : []
  const exits = ['late', 'calm', 'calm'].map((how) =>
    once(fork(program, ['fleet', name, how, ...size], { env }), 'exit'),
  )
  await Promise.all(exits)
  const redis = new Redis(process.env.REDIS_URL)
  for (const kind of kinds) {
    const runs = Object.values(await redis.hgetall(`${name}:runs:${kind}`)).map(Number)
    const twice = runs.filter((each) => each > 1).length
    judge(twice === 0 && runs.length >= TICKS, kind, `: ${runs.length} ticks, ${twice} twice`)
    await redis.del(`${name}:runs:${kind}`, `holdfast:ticks:{${name}:${kind}}`)
  }
  redis.disconnect()
  await Promise.all(
    kinds.map(async (kind) => {
      const said = await ask('away', kind)
      judge(String(said) === 'REDIS_UNAVAILABLE', kind, `, no Redis: ${said}`)
    }),
  )
  process.exitCode = wrong.length > 0 ? 1 : 0
}
