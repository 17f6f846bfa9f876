import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const TORTURE = ['scripts/faults.mjs', 'torture', '--seed', '1', '--minutes', '0.1', '--kinds', 'lock']
const PERMITS = ['scripts/faults.mjs', 'torture', '--seed', '1', '--minutes', '0.08']
const PRELOAD = `--import ${new URL('./preload.mjs', import.meta.url).href}`
const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
  ...['--config', 'packages/faults/planted/jest.config.mjs', '--runInBand', '--json'],
]
// Many times what a run takes.
const LONGEST_RUN_MS = 180_000
const LAST_WORDS_MS = 15_000

const PROJECTS = [
  ['/unit/', 'unit'],
  ['/nestjs/', 'nestjs'],
  ['/node-redis', 'noderedis6'],
  ['/red-lock-hung', 'fleets'],
  ['/redis/run.test', 'fleets'],
  ['/red-lock-faults', 'fleets'],
  ['', 'ioredis6'],
]

/**
 * @typedef {{ torture?: string, permits?: string, script?: string, test?: string, only?: string }} Finder
 * @typedef {{ found: boolean, evidence: string }} Finding
 */

/** @param {Finder} finder */
export const nameOf = ({ torture, permits, script, test, only }) =>
  torture ?? permits ?? script ?? (only ? `${test} (${only})` : test)

/**
 * Lets a finder look at Holdfast, with a bug in it or without. Where it can tell neither, because it did not come to
 * its end or fell over something else, that is an error.
 *
 * @param {Finder} finder
 * @param {{ bug?: string, redisUrl: string, signal: AbortSignal }} how
 * @returns {Promise<Finding>}
 */
export const look = (finder, how) => {
  if (finder.test) return lookByTest(finder, how)
  return lookByScript(commandOf(finder), how)
}

const commandOf = ({ torture, permits, script }) => {
  if (torture) return [...TORTURE, ...torture.split(' ')]
  return permits ? [...PERMITS, ...permits.split(' ')] : script.split(' ')
}

const lookByScript = async (command, { bug, signal }) => {
  const env = bug && { NODE_OPTIONS: PRELOAD, HOLDFAST_PLANTED_BUG: bug }
  const { code, stdout, stderr } = await runProgram(command, { env, signal })
  const lines = `${stdout}\n${stderr}`.split('\n')
  // Whatever the kit finds names the invariant; an error that names none is not about the lock.
  const violation = lines.find((line) => /^I\d+ /.test(line)) ?? lines.find((line) => /\(I\d+\)/.test(line))
  if (code === 0) return { found: false, evidence: lines[0] }
  if (code === 1 && violation) return { found: true, evidence: violation }
  throw new Error(`exit code ${code} and no violation:\n${stderr}`)
}

const lookByTest = async ({ test, only }, { bug, redisUrl, signal }) => {
  // Files as jest.config.js deals them out; the last part is in every path.
  const [, project] = PROJECTS.find(([part]) => test.includes(part))
  const pattern = only ? ['--testNamePattern', only] : []
  const args = [...JEST, '--selectProjects', project, ...pattern, '--runTestsByPath', test]
  // A transform of Jest plants the bug in the test's own process, a preload in the small programs that it starts.
  const planted = bug && { HOLDFAST_PLANTED_BUG: bug, HOLDFAST_PROGRAM_OPTIONS: PRELOAD }
  const env = { HOLDFAST_TEST_REDIS_URL: redisUrl, ...planted }
  const { stdout, stderr } = await runProgram(args, { env, signal })
  const report = reportIn(stdout)
  if (
    !report ||
    report.numRuntimeErrorTestSuites > 0 ||
    report.numPassedTests + report.numFailedTests === 0
  ) {
    throw new Error(`no test of ${test} ran:\n${stderr}`)
  }
  const results = report.testResults.flatMap((file) => file.assertionResults)
  const failed = results.find((each) => each.status === 'failed')
  return { found: Boolean(failed), evidence: failed?.fullName ?? `${report.numPassedTests} tests passed` }
}

const reportIn = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @returns {Promise<{ code: number | null, stdout: string, stderr: string }>} */
export const runProgram = (args, { env, signal, longestMs = LONGEST_RUN_MS }) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let lastWords
    const end = () => {
      child.kill('SIGTERM')
      lastWords ??= setTimeout(() => child.kill('SIGKILL'), LAST_WORDS_MS)
    }
    const limit = setTimeout(end, longestMs)
    signal.addEventListener('abort', end, { once: true })
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr']) child[name].on('data', (text) => (output[name] += String(text)))
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(limit)
      clearTimeout(lastWords)
      signal.removeEventListener('abort', end)
      resolve({ code, ...output })
    })
  })
