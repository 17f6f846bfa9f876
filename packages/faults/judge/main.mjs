// Histories of the simulator, judged by Porcupine: those of seeds are without fault, those of planted bugs are not.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { wholeNumber } from '../../../scripts/command-line.mjs'
import { interruption } from '../../../scripts/interruption.mjs'
import { runCommand } from '../../../scripts/run-command.mjs'
import { fetched, requireProgram } from '../../../scripts/support/cache.mjs'
import { PLANTED_BUGS } from '../planted/bugs.mjs'
import { runProgram } from '../planted/runs.mjs'
import { kindsFor, PRELOAD } from '../planted/simulations.mjs'

const JOBS = 2
const CHUNK = 25
const LONGEST_CHUNK_MS = 600_000
const MOST_SEEDS_OF_BUG = 100
/** Worlds in which a bug shows sooner than in all. */
const WORLDS = {
  'a renewal without an answer counts as one':
    '--faults black-hole,half-break,process-stands-still --kinds lock,fenced,fair',
}
const LEAST_FOUND = 0.95
const MOST_UNKNOWN = 0.01
const USAGE = `Usage: npm run judge -- [options]

  --seeds N    how many worlds without a bug                      (1000)
  --seed N     the first of them                                  (1)
  --no-bugs    without the planted bugs of overlap-bugs.txt
  --history F  judges this file instead
  --help

Skipped, with a word, where there is no Go. Exit code: 0 Porcupine agrees and finds the bugs, 1 otherwise, 2 wrong arguments.`
const signal = interruption()
const folder = join(tmpdir(), `holdfast-judge-${process.pid}`)
const program = join(folder, 'judge')
let files = 0

/** @returns {Promise<{ seed: number, rules: string[] | null, illegal: string[] | null, unknown: string[] | null }[]>} */
const judged = async (file) => {
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'], signal })
  createReadStream(file).pipe(child.stdin)
  const verdicts = []
  const ended = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) verdicts.push(JSON.parse(line))
  const [code] = await ended
  if (code !== 0) throw new Error(`the judge ended with ${code}`)
  return verdicts
}

/** The verdicts on these worlds, with a bug or without. */
const verdictsOn = async (seed, seeds, bug) => {
  const file = join(folder, `${(files += 1)}.jsonl`)
  const args = ['scripts/simulate.mjs', '--seed', String(seed), '--seeds', String(seeds), '--minutes', '60']
  if (bug) args.push(...(WORLDS[bug] ?? `--kinds ${kindsFor(PLANTED_BUGS[bug])}`).split(' '))
  const env = bug && { NODE_OPTIONS: PRELOAD, HOLDFAST_PLANTED_BUG: bug }
  const ran = await runProgram([...args, '--history', file], { env, signal, longestMs: LONGEST_CHUNK_MS })
  if (ran.code !== 0 && ran.code !== 1) throw new Error(`exit code ${ran.code}:\n${ran.stdout}${ran.stderr}`)
  const verdicts = await judged(file)
  await rm(file)
  return verdicts
}

const inTurns = async (all, work) => {
  const left = [...all]
  const worker = async () => {
    for (let next = left.shift(); next !== undefined && !signal.aborted; next = left.shift()) await work(next)
  }
  await Promise.all(Array.from({ length: JOBS }, worker))
}

const judgeSeeds = async (seed, seeds) => {
  const [startedAt, total] = [
    performance.now(),
    { histories: 0, objects: 0, operations: 0, unknown: 0, against: 0 },
  ]
  const chunks = Array.from({ length: Math.ceil(seeds / CHUNK) }, (_, i) => i * CHUNK)
  await inTurns(chunks, async (from) => {
    for (const said of await verdictsOn(seed + from, Math.min(CHUNK, seeds - from))) {
      total.histories += 1
      total.objects += said.objects
      total.operations += said.operations
      total.unknown += said.unknown ? 1 : 0
      if (said.unknown)
        console.log(`UNKNOWN  seed ${said.seed}: no verdict in time on ${said.unknown.join()}`)
      if (!said.illegal && !said.rules?.length) continue
      total.against += 1
      const [ours, theirs] = [said.rules, said.illegal].map((all) => all?.join() || 'nothing')
      console.log(`AGAINST  seed ${said.seed}: Porcupine says ${theirs}, the simulator ${ours}`)
    }
  })
  const { histories, objects, operations, unknown, against } = total
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(
    `${histories} histories, ${objects} locks and semaphores, ${operations} operations: Porcupine agrees on ` +
      `${histories - against - unknown}, ${unknown} unknown, ${against} against us; ${seconds} s`,
  )
  return against === 0 && unknown <= MOST_UNKNOWN * histories && histories === seeds
}

const judgeBugs = async () => {
  const text = await readFile(new URL('overlap-bugs.txt', import.meta.url), 'utf8')
  const bugs = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  let found = 0
  await inTurns(bugs, async (bug) => {
    let evidence
    for (let seed = 1; seed <= MOST_SEEDS_OF_BUG && !evidence; seed += CHUNK) {
      evidence = (await verdictsOn(seed, CHUNK, bug))
        .sort((a, b) => a.seed - b.seed)
        .find(({ illegal }) => illegal)
    }
    found += evidence ? 1 : 0
    console.log(
      evidence ? `found   ${bug}: seed ${evidence.seed}, ${evidence.illegal.join()}` : `MISSED  ${bug}`,
    )
  })
  console.log(`Porcupine finds ${found} of ${bugs.length} planted bugs of the overlap kind.`)
  return found >= LEAST_FOUND * bugs.length
}

const main = async (given) => {
  const seeds = wholeNumber('seeds', given.seeds, 1_000_000)
  const seed = wholeNumber('seed', given.seed, 999_999_999)
  await requireProgram('Go', 'go', ['version'])
  await mkdir(folder, { recursive: true })
  const cwd = import.meta.dirname
  await fetched('Porcupine', 'go', ['mod', 'download'], { cwd })
  await fetched('the judge', 'go', ['build', '-o', program, '.'], { cwd })
  if (given.history) {
    const [said] = await judged(given.history)
    console.log(said)
    return !said.illegal
  }
  const agrees = await judgeSeeds(seed, seeds)
  return (given['no-bugs'] || (await judgeBugs())) && agrees
}

const text = { type: 'string' }
await runCommand({
  USAGE,
  options: {
    seeds: { ...text, default: '1000' },
    seed: { ...text, default: '1' },
    history: text,
    'no-bugs': { type: 'boolean', default: false },
  },
  run: (given) => main(given).finally(() => rm(folder, { recursive: true, force: true })),
})
