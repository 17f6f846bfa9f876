// Measures what one call runs through, beside the committed figures. It measures how much there is to read, not how long it takes.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { format } from 'prettier'
import { parseOptions } from './command-line.mjs'
import { buildInstrumented } from './meter/instrument.mjs'
import { sizes } from './meter/sizes.mjs'
import { COLUMNS, common, Trace } from './meter/trace.mjs'
import { provideRedis } from './redis/provide-redis.mjs'
import { runCommand } from './run-command.mjs'
import { table } from './table.mjs'

const FIGURES = fileURLToPath(new URL('meter/figures.json', import.meta.url))
const BUILD = fileURLToPath(new URL('../build/meter/core.mjs', import.meta.url))
const USAGE = `Usage: npm run meter -- [options]

  --write   writes the figures to scripts/meter/figures.json; files, crossings and fields only where they fell
  --because <ability>   with --write: also where they rose, for an ability that the commit names
  --files   prints the files that each call runs through
  --help

A call runs through files (lines: all lines of these), functions, calls of functions, and makes objects. Crossings: how
often control passes from one room to another. Fields: the mutable ones of the classes whose code runs. What rose is named.
A risen number of files, crossings or fields is an error; each other figure rises only in a commit that says for what.
With all accelerators off and nobody listening, pass/ and all of diagnostics/ but its seam must not run.`

/** These rise only with --because. */
const BOUND = ['files', 'crossings', 'fields']
const WINDOW_MS = 600
/** Each scenario runs so many times. */
const ROUNDS = 3
const SETTINGS = {
  defaults: {},
  'all off': {
    ...{ pushedGrants: false, localPassing: false, localReentry: false },
    ...{ commandBatchSize: 1, watchdogBatchSize: 1 },
    bareCalls: 'allow',
    onContextEnd: 'keep',
  },
}
/** Calls that, with all of that off, run through no file of these. */
const PLAIN_CALLS = ['acquire', 'release', 'wake-up, until it is held', 'renewal']
const NOT_PLAIN = /core\/src\/(?:pass|diagnostics)\/(?!call-reports)/

/** @typedef {{ measured: import('ioredis').Redis, redis: Redis, locks: any, others: any, brief: any, trace: Trace }} Bench */

const waiting = { waitMs: 20_000 }

/** The recorded calls, by name. Each leaves nothing held; the last leaves timers, of locks that were granted. @type {Record<string, (bench: Bench, name: string) => Promise<object>>} */
const SCENARIOS = {
  async acquire({ locks, trace }, name) {
    let hold
    const run = await trace.record(async () => (hold = await locks.getLock(name).acquire()))
    await hold.release()
    return run
  },
  async 'acquire that waits, until it sleeps'({ locks, redis, trace }, name) {
    await holdElsewhere(redis, name)
    let call
    const run = await trace.record(async () => {
      call = locks.getLock(name).acquire(waiting)
      await untilIdle(trace)
    })
    await releaseElsewhere(redis, name)
    await (await call).release()
    return run
  },
  async 'wake-up, until it is held'({ locks, redis, trace }, name) {
    await holdElsewhere(redis, name)
    const call = locks.getLock(name).acquire(waiting)
    await untilIdle(trace)
    let hold
    const run = await trace.record(async () => {
      await releaseElsewhere(redis, name)
      hold = await call
    })
    await hold.release()
    return run
  },
  async release({ locks, trace }, name) {
    const hold = await locks.getLock(name).acquire()
    await untilIdle(trace)
    return trace.record(() => hold.release())
  },
  async renewal({ brief, redis, trace }, name) {
    const hold = await brief.getLock(name).acquire()
    await untilIdle(trace, 10)
    const run = await trace.record(async () => {
      for (let left = await redis.pttl(name); ;) {
        const now = await redis.pttl(name)
        if (now > left) break
        left = now
        await sleep(1)
      }
      await untilIdle(trace, 20)
    })
    await hold.release()
    return run
  },
  async 'loss, found by a renewal'({ brief, redis, trace }, name) {
    const hold = await brief.getLock(name).acquire()
    await untilIdle(trace, 10)
    return trace.record(async () => {
      await redis.del(name)
      if (!hold.signal.aborted) await new Promise((done) => hold.signal.addEventListener('abort', done))
      await untilIdle(trace, 20)
    })
  },
  async 'release to another client, and its use'({ locks, others, trace }, name) {
    const hold = await locks.getLock(name).acquire()
    const call = others.getLock(name).acquire(waiting)
    await untilIdle(trace)
    let next
    const run = await trace.record(async () => {
      await hold.release()
      next = await call
    })
    await next.release()
    return run
  },
}

/** Nothing of ours has run for a while: what was to be done is done, or waits for something. */
const untilIdle = async (trace, ms = 40) => {
  for (let calls = -1; calls !== trace.calls;) {
    calls = trace.calls
    await sleep(ms)
  }
}

/** Another holder, like Redisson, which takes and releases: no code of ours runs. */
const holdElsewhere = (redis, name) => redis.multi().hset(name, 'elsewhere:1', 1).pexpire(name, 30_000).exec()
const releaseElsewhere = (redis, name) =>
  redis.multi().del(name).publish(`redisson_lock__channel:{${name}}`, '0').exec()

/** Node fires some timers a fraction of a millisecond early, and what they are for has to set them again. */
const fireTimersLate = () => {
  const { setTimeout } = globalThis
  globalThis.setTimeout = (callback, ms, ...rest) => setTimeout(callback, ms + 2, ...rest)
}

const load = async () => {
  const trace = new Trace(await buildInstrumented(BUILD))
  globalThis.__meter = trace
  fireTimersLate()
  const { LockClient } = await import(pathToFileURL(BUILD))
  return { trace, LockClient }
}

const measure = async (url, { trace, LockClient }, files) => {
  const figures = {}
  for (const [setting, options] of Object.entries(SETTINGS)) {
    figures[setting] = await withClients(url, LockClient, options, (clients) =>
      scenarios({ ...clients, trace, files: (files[setting] = {}) }),
    )
  }
  return { ...figures, sizes: sizes() }
}

const lower = (one, other) =>
  typeof one === 'number' ? Math.min(one, other) : mapped(one, (value, key) => lower(value, other[key]))

const withClients = async (url, LockClient, options, work) => {
  const connections = Array.from({ length: 4 }, () => new Redis(url))
  const [redis, ...own] = connections
  const [locks, others] = own.map((each) => new LockClient(each, options))
  const brief = new LockClient(own[2], { ...options, lockWatchdogTimeout: WINDOW_MS })
  try {
    return await work({ redis, locks, others, brief })
  } finally {
    await Promise.all([locks, others, brief].map((each) => each.close()))
    for (const each of connections) each.disconnect()
  }
}

const scenarios = async (bench) => {
  const chosen = []
  const figures = {}
  for (const [scenario, run] of Object.entries(SCENARIOS)) {
    const runs = []
    // The first loads scripts, subscribes, and makes what a client has once.
    for (let round = 0; round <= ROUNDS; round += 1) {
      const result = await run(bench, `holdfast-meter:${process.pid}:${chosen.length}:${round}`)
      if (round > 0) runs.push(result)
    }
    chosen.push(common(runs))
    bench.files[scenario] = bench.trace.filesOf(chosen.at(-1))
    figures[scenario] = bench.trace.figuresOf(chosen.at(-1))
  }
  return { ...figures, 'the whole life': bench.trace.figuresOf(...chosen) }
}

/** Every figure, with the path to it. */
const flat = (figures) =>
  Object.entries(figures).flatMap(([key, value]) =>
    typeof value === 'number' ? [[key, value]] : flat(value).map(([path, each]) => [`${key}, ${path}`, each]),
  )

const print = (figures) => {
  for (const setting of Object.keys(SETTINGS)) {
    const rows = Object.entries(figures[setting])
    const lines = table([
      [setting, ...COLUMNS],
      ...rows.map(([scenario, each]) => [scenario, ...Object.values(each).map(String)]),
    ])
    console.log(`${lines.join('\n')}\n`)
  }
  console.log(
    `${table(Object.entries(figures.sizes).map(([name, value]) => [name, String(value)])).join('\n')}\n`,
  )
}

/** In the file a scenario is a row of numbers, below the names of the columns: short to read in a diff. */
const packed = ({ sizes, ...settings }) => ({
  columns: COLUMNS,
  ...eachScenario(settings, Object.values),
  sizes,
})
const unpacked = ({ columns, sizes, ...settings }) => {
  const named = (row) => Object.fromEntries(columns.map((name, i) => [name, row[i]]))
  return { ...eachScenario(settings, named), sizes }
}
const eachScenario = (settings, change) => mapped(settings, (scenarios) => mapped(scenarios, change))
const mapped = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]))

/** Work that a timer begins: Node fires it now and then in two steps, which are a few calls more. */
const TIMED = ['renewal', 'loss, found by a renewal', 'the whole life']
const SLACK = 1.1

const isBound = ([path, before, now]) => {
  if (!BOUND.some((name) => path.endsWith(`, ${name}`))) return false
  const isLoose = path.endsWith('crossings') && TIMED.some((name) => path.includes(`, ${name},`))
  return now > before * (isLoose ? SLACK : 1)
}

/** @returns {{ rose: [string, number, number][], fell: [string, number, number][] }} path, committed figure and this one */
const compare = (figures) => {
  const committed = new Map(flat(unpacked(JSON.parse(readFileSync(FIGURES, 'utf8')))))
  const changes = flat(figures).map(([path, value]) => [path, committed.get(path) ?? 0, value])
  return {
    rose: changes.filter(([, before, now]) => now > before),
    fell: changes.filter(([, before, now]) => now < before),
  }
}

const report = ({ rose, fell }) => {
  for (const change of rose) {
    const [path, before, now] = change
    console.log(`${isBound(change) ? 'rose, and must not' : 'rose'}: ${path}: ${before} -> ${now}`)
  }
  if (rose.length > 0)
    console.log('Say in the commit which ability costs it, and write: npm run meter -- --write')
  if (fell.length > 0) console.log(`${fell.length} figures fell: npm run meter -- --write`)
  if (rose.length + fell.length === 0) console.log('All figures are those of scripts/meter/figures.json.')
}

const run = async (wanted) => {
  const redis = await provideRedis()
  try {
    const tracing = await load()
    const files = {}
    let figures = await measure(redis.url, tracing, files)
    const isOver = () => compare(figures).rose.some(isBound)
    // On a busy machine a timer may fire in every round of a scenario.
    if (isOver()) figures = lower(figures, await measure(redis.url, tracing, files))
    print(figures)
    if (wanted.files) console.log(JSON.stringify(files, null, 1))
    report(compare(figures))
    const beside = PLAIN_CALLS.flatMap((call) =>
      files['all off'][call].filter((file) => NOT_PLAIN.test(file)).map((file) => `${call}: ${file}`),
    )
    for (const each of beside) console.log(`runs with everything off, and must not: ${each}`)
    const isGranted = wanted.write && wanted.because !== undefined
    if (isGranted || (wanted.write && !isOver())) {
      const text = JSON.stringify(packed(figures))
      writeFileSync(FIGURES, await format(text, { parser: 'json', printWidth: 110 }))
    }
    return beside.length === 0 && (isGranted || !isOver())
  } finally {
    await redis.stop()
  }
}

const parseArguments = (args) =>
  parseOptions(args, {
    write: { type: 'boolean', default: false },
    because: { type: 'string' },
    files: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  })

await runCommand({ parseArguments, USAGE, run })
