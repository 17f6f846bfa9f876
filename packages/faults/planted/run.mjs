// Plants one mistake at a time into Holdfast: the torture, or a test, has to find each, and nothing without it.
import { availableParallelism, loadavg } from 'node:os'
import { RedisServer } from '@holdfast/faults/harness'
import { parseOptionsAndTexts, UsageError, wholeNumber } from '../../../scripts/command-line.mjs'
import { interruption } from '../../../scripts/interruption.mjs'
import { PLANTED_BUGS } from './bugs.mjs'
import { requirePlantable } from './plantable.mjs'
import { lookByProgram, lookByTest, nameOf } from './runs.mjs'
import { outside, simulate, strayNames } from './simulations.mjs'
import { withServerProgram } from '../../../scripts/redis/server-program.mjs'
import { runCommand } from '../../../scripts/run-command.mjs'

const MOST_JOBS = 64
const MOST_EVIDENCE = 120
const PROCESSORS = availableParallelism()
// A run waits for most of its time. Many more at once would fight for the processors, and late is a finding.
const JOBS = Math.min(6, Math.ceil(1.5 * PROCESSORS))
const BUSY = 4 * PROCESSORS
const SECONDS = 60
const USAGE = `Usage: npm run test:planted -- [options] [TEXT ...]

  TEXT        only the bugs whose name has one of the texts
  --jobs N    how many runs at a time                            (${JOBS})
  --check     only see whether each bug can be planted
  --simulator in simulated worlds instead, without a Redis: says of each bug whether and how soon it is found
  --seconds N with --simulator: for how long each is looked for       (${SECONDS})
  --list      name the bugs and who has to find them
  --help

Exit code: 0 each was found and nothing else, 1 otherwise, 2 the arguments are wrong.`
const signal = interruption()

const wantedOf = (args) => {
  const flag = { type: 'boolean', default: false }
  const number = { type: 'string' }
  const options = { jobs: number, seconds: number, check: flag, simulator: flag, list: flag, help: flag }
  const { values, texts } = parseOptionsAndTexts(args, options)
  const jobs = values.jobs === undefined ? JOBS : wholeNumber('jobs', values.jobs, MOST_JOBS)
  const seconds = values.seconds === undefined ? SECONDS : wholeNumber('seconds', values.seconds, 3_600)
  const names = Object.keys(PLANTED_BUGS).filter(
    (name) => texts.length === 0 || texts.some((text) => name.includes(text)),
  )
  if (names.length === 0) throw new UsageError(`no planted bug has '${texts.join("' or '")}' in its name`)
  return { ...values, jobs, seconds, names }
}

/**
 * Each program by itself, and each test file with all bugs that it has to find. Every one looks without a bug, too: one
 * that finds fault with anything would find every bug.
 */
const startsFor = (names) => {
  const [programs, files] = [new Map(), new Map()]
  for (const bug of names) {
    const { test, only, ...finder } = PLANTED_BUGS[bug]
    if (test) files.set(test, [...(files.get(test) ?? []), { bug, only }])
    else programs.set(nameOf(finder), [...(programs.get(nameOf(finder)) ?? []), { bug, finder }])
  }
  return [
    ...[...programs].flatMap(([name, bugs]) =>
      [{ finder: bugs[0].finder }, ...bugs].map(({ bug, finder }) => ({
        looks: [{ bug, what: bug ?? `without a bug, ${name}` }],
        start: async () => [await lookByProgram(finder, { bug, signal }).catch((error) => error)],
      })),
    ),
    ...[...files].map(([test, bugs]) => {
      const all = bugs.every(({ only }) => only) ? bugs.map(({ only }) => `(?:${only})`).join('|') : undefined
      const looks = [{ only: all }, ...bugs]
      return {
        looks: looks.map(({ bug }) => ({ bug, what: bug ?? `without a bug, ${test}` })),
        start: (redisUrl) => lookByTest(test, looks, { redisUrl, signal }),
      }
    }),
  ]
}

/** @returns {Promise<number>} how many looks did not see what they should */
const lookAll = async ({ names, jobs }, redisUrl) => {
  const starts = startsFor(names)
  const [total, startedAt] = [starts.flatMap(({ looks }) => looks).length, performance.now()]
  let [done, wrong] = [0, 0]
  const say = ({ bug, what }, result) => {
    done += 1
    const { word, right, evidence } = judged(bug, result)
    wrong += right ? 0 : 1
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    const said = right ? evidence.slice(0, MOST_EVIDENCE) : evidence
    console.log(`${word}  ${what}: ${said}  (${done} of ${total}, ${seconds} s)`)
  }
  const worker = async () => {
    for (let next = starts.shift(); next && !signal.aborted; next = starts.shift()) {
      const results = await next.start(redisUrl)
      if (signal.aborted) return
      next.looks.forEach((look, i) => say(look, results[i]))
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  return wrong
}

const judged = (bug, result) => {
  if (result instanceof Error) return { word: 'BROKEN', right: false, evidence: result.message }
  const { found, evidence } = result
  const word = bug ? (found ? 'caught' : 'MISSED') : found ? 'DIRTY ' : 'clean '
  return { word, right: found === Boolean(bug), evidence }
}

/** @returns {Promise<string>} what was found, and how soon */
const simulateAll = async ({ names, jobs, seconds }) => {
  const clean = await simulate({ seconds, signal })
  if (clean.found) throw new Error(`without a bug a world breaks a rule: ${clean.evidence}`)
  console.log(`clean   without a bug: ${clean.evidence}`)
  const wanted = names.filter((name) => outside(name, PLANTED_BUGS[name]) === undefined)
  for (const name of names.filter((each) => !wanted.includes(each))) {
    console.log(`outside ${name}: ${outside(name, PLANTED_BUGS[name])}`)
  }
  const found = []
  const left = [...wanted]
  const worker = async () => {
    for (let name = left.shift(); name && !signal.aborted; name = left.shift()) {
      const result = await simulate({ bug: name, planted: PLANTED_BUGS[name], seconds, signal }).catch(
        (error) => ({
          ...{ found: false, seconds: 0, evidence: `it does not run to an end: ${error.message}` },
        }),
      )
      if (result.found) found.push(result.seconds)
      const word = result.found ? `${result.seconds.toFixed(1).padStart(5)} s ` : 'missed  '
      console.log(`${word}${name}: ${result.evidence.slice(0, MOST_EVIDENCE)}`)
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  signal.throwIfAborted()
  const median = found.toSorted((a, b) => a - b)[Math.floor(found.length / 2)] ?? 0
  const share = Math.round((100 * found.length) / wanted.length)
  return `${found.length} of ${wanted.length} found (${share} %), the median after ${median.toFixed(1)} s`
}

const excuse = () => {
  const load = loadavg()[0]
  if (load < BUSY) return ''
  return `. But this machine is busy: a load of ${load.toFixed(0)} on ${PROCESSORS} processors makes anything late`
}

const main = async (wanted) => {
  for (const name of wanted.names) requirePlantable(PLANTED_BUGS[name])
  const strays = strayNames(PLANTED_BUGS)
  if (strays.length > 0) throw new Error(`no bug for the simulator to leave out: ${strays.join('; ')}`)
  if (wanted.simulator) return simulateAll(wanted)
  if (wanted.check) return `All ${wanted.names.length} bugs can be planted`
  return withServerProgram(async () => {
    const redis = await RedisServer.start()
    try {
      const wrong = await lookAll(wanted, redis.url)
      signal.throwIfAborted()
      if (wrong > 0) throw new Error(`${wrong} of these should be otherwise${excuse()}`)
      return `All ${wanted.names.length} planted bugs were caught`
    } finally {
      await redis.stop()
    }
  })
}

await runCommand({
  ...{ USAGE, parseArguments: wantedOf },
  run: async (wanted) => {
    if (wanted.list) for (const name of wanted.names) console.log(`${name}: ${nameOf(PLANTED_BUGS[name])}`)
    else console.log(await main(wanted))
  },
})
