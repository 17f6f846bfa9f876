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
  ...['--config', 'packages/faults/planted/jest.config.mjs'],
  ...['-w', '2'],
]
// Many times what a run takes.
const LONGEST_RUN_MS = 180_000
const LAST_WORDS_MS = 15_000

// Files are dealt out as in jest.config.js; the last part is in every path.
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
 * Lets a program look at Holdfast, with a bug in it or without. Where it can tell neither, because it did not come to
 * its end or fell over something else, that is an error.
 *
 * @param {Finder} finder
 * @param {{ bug?: string, signal: AbortSignal }} how
 * @returns {Promise<Finding>}
 */
export const lookByProgram = async (finder, { bug, signal }) => {
  const env = bug && { NODE_OPTIONS: PRELOAD, HOLDFAST_PLANTED_BUG: bug }
  const { code, stdout, stderr } = await runProgram(commandOf(finder), { env, signal })
  const lines = `${stdout}\n${stderr}`.split('\n')
  // Whatever the kit finds names the invariant; an error that names none is not about the lock.
  const violation = lines.find((line) => /^I\d+ /.test(line)) ?? lines.find((line) => /\(I\d+\)/.test(line))
  if (code === 0) return { found: false, evidence: lines[0] }
  if (code === 1 && violation) return { found: true, evidence: violation }
  throw new Error(`exit code ${code} and no violation:\n${stderr}`)
}

const commandOf = ({ torture, permits, script }) => {
  if (torture) return [...TORTURE, ...torture.split(' ')]
  return permits ? [...PERMITS, ...permits.split(' ')] : script.split(' ')
}

/**
 * Lets a test file look several times, in one start of Jest: its transform plants the bug in the process of the test.
 *
 * @param {string} test
 * @param {{ bug?: string, only?: string }[]} looks
 * @param {{ redisUrl: string, signal: AbortSignal }} how
 * @returns {Promise<(Finding | Error)[]>} for each look; an error where no test came to an end
 */
export const lookByTest = async (test, looks, { redisUrl, signal }) => {
  const [, project] = PROJECTS.find(([part]) => test.includes(part))
  const env = {
    HOLDFAST_TEST_REDIS_URL: redisUrl,
    HOLDFAST_PLANTED_LOOKS: JSON.stringify({ project, looks }),
  }
  const { stdout, stderr } = await runProgram([...JEST, '--runTestsByPath', test], {
    ...{ env, signal, longestMs: looks.length * LONGEST_RUN_MS },
  })
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"look"'))
  const results = lines.map((line) => JSON.parse(line))
  return looks.map((_, i) => {
    const { failed, passed, error } = results.find(({ look }) => look === i) ?? { error: stderr }
    // A test that failed is a finding, also where it has left something behind that breaks the file.
    if (!failed && (error !== undefined || passed === 0))
      return new Error(`no test of ${test} ran:\n${error}`)
    return { found: Boolean(failed), evidence: failed ?? `${passed} tests passed` }
  })
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
