// A RedLock of five nodes, some of which hang (SIGSTOP), under contention of several processes. docs/redlock.md has
// the figures.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { RedisServer } from '@holdfast/testing'
import { parseOptions, UsageError, wholeNumber } from './command-line.mjs'
import { interruption } from './interruption.mjs'
import { runScript } from './script-main.mjs'
import { table } from './table.mjs'

const USAGE = `Usage: node scripts/red-lock-hung.mjs [options]

  --nodes N       Redis servers                                   (5)
  --hung LIST     how many of them hang, one run for each         (0,1,2)
  --kinds LIST    kinds of the member locks                       (lock,fair)
  --processes N   processes                                       (8)
  --callers N     callers of each                                 (2)
  --work N        how long each stays inside, ms                  (5)
  --wait N        how long each waits at most, ms                 (3000)
  --seconds N     how long each run lasts                         (16)
  --when WHEN     the nodes hang 'before' the run or 'amid' it    (before)
  --json          figures as JSON
  --help

Exit code: 0 never two inside and nobody waited for longer than --wait allows, 1 otherwise, 2 the arguments are wrong.`
const WORKER = fileURLToPath(new URL('./red-lock-hung/worker.mjs', import.meta.url))
const interrupted = interruption()

const parseArguments = (args) => {
  const text = (value) => ({ type: 'string', default: value })
  const { help, json, hung, kinds, when, ...numbers } = parseOptions(args, {
    ...{ nodes: text('5'), processes: text('8'), callers: text('2'), work: text('5') },
    ...{ wait: text('3000'), seconds: text('16'), hung: text('0,1,2'), kinds: text('lock,fair') },
    ...{ when: text('before'), json: { type: 'boolean', default: false } },
    help: { type: 'boolean', default: false },
  })
  const wanted = Object.fromEntries(
    Object.entries(numbers).map(([name, given]) => [name, wholeNumber(name, given, 100_000)]),
  )
  if (!['before', 'amid'].includes(when)) throw new UsageError(`--when takes before or amid, not '${when}'`)
  if (kinds.split(',').some((kind) => !['lock', 'fair'].includes(kind))) {
    throw new UsageError(`--kinds takes lock and fair, not '${kinds}'`)
  }
  if (hung.split(',').some((each) => !/^\d$/.test(each) || Number(each) > wanted.nodes)) {
    throw new UsageError(`--hung takes numbers of nodes, not '${hung}'`)
  }
  return { help, json, when, ...wanted, kinds: kinds.split(','), hung: hung.split(',').map(Number) }
}

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The first nodes hang: those at which all would wait first. */
const runOnce = async ({ kind, hung, nodes, processes, callers, work, wait, seconds, when }) => {
  const servers = await Promise.all(Array.from({ length: nodes }, () => RedisServer.start()))
  const stopped = servers.slice(0, hung)
  const argument = { urls: servers.map(({ url }) => url), kind, callers, workMs: work, waitMs: wait }
  const workers = Array.from({ length: processes }, () => fork(WORKER, [JSON.stringify(argument)]))
  try {
    await Promise.all(workers.map((worker) => once(worker, 'message')))
    if (when === 'before') await Promise.all(stopped.map((server) => server.pause()))
    const results = workers.map(async (worker) => {
      const [message] = await once(worker, 'message')
      return message.seen
    })
    workers.forEach((worker) => worker.send('begin'))
    await rest((seconds * 1_000) / 2)
    if (when === 'amid') await Promise.all(stopped.map((server) => server.pause()))
    await rest((seconds * 1_000) / 2)
    workers.forEach((worker) => worker.send('end'))
    return figuresOf(await Promise.all(results), { kind, hung, when })
  } finally {
    workers.forEach((worker) => worker.kill('SIGKILL'))
    await Promise.all(servers.map((server) => server.stop()))
  }
}

const figuresOf = (seen, run) => {
  const grants = seen.flatMap((each) => each.grants).sort(([a], [b]) => a - b)
  const gaps = grants.slice(1).map(([from], i) => from - grants[i][1])
  const errors = seen.flatMap((each) => Object.entries(each.errors))
  return {
    ...run,
    grants: grants.length,
    overlaps: gaps.filter((gap) => gap < 0).length,
    longestGapMs: Math.round(Math.max(0, ...gaps)),
    longestWaitMs: Math.round(Math.max(...seen.map((each) => each.longestWaitMs))),
    timeouts: seen.reduce((sum, each) => sum + each.timeouts, 0),
    errors: errors.map(([code, count]) => `${count} ${code}`).join(', '),
  }
}

const HEADINGS = [
  'members',
  'hung',
  'grants',
  'of all',
  'overlaps',
  'longest wait',
  'nobody inside',
  'time-outs',
]
const report = (all) =>
  table([
    [...HEADINGS, 'errors'],
    ...all.map((each) => {
      const whole = all.find(({ kind, hung }) => kind === each.kind && hung === 0)
      const share = whole ? `${Math.round((100 * each.grants) / whole.grants)} %` : ''
      const times = [each.longestWaitMs, each.longestGapMs].map((ms) => `${ms} ms`)
      const counts = [each.grants, share, each.overlaps, ...times, each.timeouts, each.errors || 'none']
      return [each.kind, each.hung, ...counts].map(String)
    }),
  ]).join('\n')

await runScript({
  ...{ parseArguments, USAGE },
  heading: ({ nodes, processes, callers, work, seconds, when }) =>
    `${nodes} nodes, ${processes} processes with ${callers} callers each, ${work} ms inside, ${seconds} s, hung ${when} the run`,
  run: async ({ kinds, hung, json, ...wanted }) => {
    const all = []
    for (const kind of kinds) {
      for (const each of hung) {
        if (!interrupted.aborted) all.push(await runOnce({ ...wanted, kind, hung: each }))
      }
    }
    console.log(json ? JSON.stringify(all) : report(all))
    return all.every(({ overlaps, timeouts, errors }) => overlaps === 0 && timeouts === 0 && errors === '')
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
