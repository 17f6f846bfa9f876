// Every program that a page names and that no test and no other step of CI runs, in its smallest form, several at a time.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { availableParallelism } from 'node:os'
import { parseOptionsAndTexts, UsageError, wholeNumber } from './command-line.mjs'
import { interruption } from './interruption.mjs'
import { withServerProgram } from './redis/server-program.mjs'
import { runCommand } from './run-command.mjs'
import { SCENARIOS } from '@holdfast/faults'
import { COMMANDS, SCENARIOS_RUN_ELSEWHERE, SCRIPTS } from './smokes/commands.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
// They wait for most of their time, but on a machine that is busy leases end rightly.
const JOBS = Math.min(4, availableParallelism() + 1)
const LONGEST_MS = 400_000
// One that does not end then is killed, or this would wait for it without a limit.
const LONGEST_END_MS = 15_000
const USAGE = `Usage: node scripts/smokes.mjs [--jobs N] [TEXT ...]

  TEXT        only the commands whose name has one of the texts
  --jobs N    how many at a time                               (${JOBS})
  --help

Exit code: 0 all of them ended well, 1 otherwise, 2 the arguments are wrong.`

const signal = interruption()

/** @returns {Promise<{ code: number | null, output: string }>} */
const run = (command) =>
  new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'pipe']
    const child = spawn(process.execPath, command.split(' '), { cwd: ROOT, stdio })
    const end = () => child.kill('SIGTERM')
    const limit = setTimeout(end, LONGEST_MS)
    const lastLimit = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS + LONGEST_END_MS)
    signal.addEventListener('abort', end, { once: true })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)))
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(limit)
      clearTimeout(lastLimit)
      signal.removeEventListener('abort', end)
      resolve({ code, output })
    })
  })

const runAll = async (commands, jobs) => {
  let failed = 0
  const worker = async () => {
    for (let next = commands.shift(); next && !signal.aborted; next = commands.shift()) {
      const startedAt = performance.now()
      const { code, output } = await run(next)
      const seconds = Math.round((performance.now() - startedAt) / 1_000)
      const [skipped] = /^Skipped: .*$/m.exec(output) ?? []
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'}  ${next}  (${skipped ?? `${seconds} s`})`)
      if (code !== 0) console.log(output)
      failed += code === 0 ? 0 : 1
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  return failed
}

const smokesWith = async (texts, jobs) => {
  const scenarios = SCENARIOS.filter(({ name }) => !(name in SCENARIOS_RUN_ELSEWHERE)).map(
    ({ name, smoke }) => [`faults ${name}`, { smoke: `scripts/faults.mjs ${name} ${smoke}`.trim() }],
  )
  const all = { ...COMMANDS, ...SCRIPTS, ...Object.fromEntries(scenarios) }
  const wanted = Object.entries(all).filter(
    ([name, { smoke }]) => smoke && (texts.length === 0 || texts.some((text) => name.includes(text))),
  )
  if (wanted.length === 0) throw new UsageError(`no smoke has '${texts.join("' or '")}' in its name`)
  const failed = await runAll([...new Set(wanted.map(([, { smoke }]) => smoke))], jobs)
  return failed === 0 && !signal.aborted
}

await runCommand({
  USAGE,
  parseArguments: (args) => {
    const flag = { type: 'boolean', default: false }
    const options = { jobs: { type: 'string', default: String(JOBS) }, help: flag }
    const { values, texts } = parseOptionsAndTexts(args, options)
    return { texts, jobs: wholeNumber('jobs', values.jobs, 64), help: values.help }
  },
  run: ({ texts, jobs }) => withServerProgram(() => smokesWith(texts, jobs)),
})
