import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const LIMIT_MS = 40 * 60_000

/**
 * @typedef {object} SuitesWanted
 * @property {string[]} projects of jest.config.js
 * @property {string[]} suites test files of core against Redis, by the name before `.test.ts`; none: all of the projects
 * @property {string} [program] the Node that runs them; by default the one that runs this
 * @property {string[]} [without] parts of the names of tests that are left out
 * @property {Record<string, string>} [env] added environment, by which tests find their servers
 * @property {AbortSignal} interrupted ends the run
 * @property {number} [limitMs] ends it too: by default after forty minutes
 *
 * @typedef {{ passed: number, failed: number, failures: string[], again?: string[] }} Outcome
 *   `again`: suites that failed once beside the others, and passed alone
 */

/**
 * Runs suites of core with Jest and counts. One that fails is run once more, alone: on a machine that others use, leases
 * of some hundred milliseconds end rightly. The outcome names it.
 *
 * @param {SuitesWanted} wanted
 * @returns {Promise<Outcome>}
 */
export const runSuitesTwice = async (wanted) => {
  const { failedSuites, ...first } = await runSuites(wanted)
  if (first.failed === 0 || failedSuites.length === 0) return first
  const alone = await runSuites({ ...wanted, suites: failedSuites })
  if (alone.failed > 0) return { passed: first.passed, failed: alone.failed, failures: alone.failures }
  return { passed: first.passed + first.failed, failed: 0, failures: [], again: failedSuites }
}

/**
 * Runs suites of core with Jest and counts.
 *
 * @param {SuitesWanted} wanted
 * @returns {Promise<Outcome & { failedSuites: string[] }>}
 */
export const runSuites = async ({
  projects,
  suites,
  program = process.execPath,
  without = [],
  env = {},
  interrupted,
  limitMs = LIMIT_MS,
}) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-suites-'))
  const report = join(folder, 'report.json')
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  const files = suites.map((name) => `packages/core/test/redis/${name}.test.ts`)
  const options = ['--silent', '--json', '--outputFile', report, '-w', '2', '--selectProjects', ...projects]
  const tests = without.length > 0 ? ['-t', `^(?!.*(${without.join('|')}))`] : []
  const jest = spawn(program, [...flags, 'node_modules/jest/bin/jest.js', ...files, ...options, ...tests], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: globalThis.AbortSignal.any([interrupted, globalThis.AbortSignal.timeout(limitMs)]),
  })
  try {
    let said = ''
    jest.stderr.setEncoding('utf8').on('data', (text) => (said += text))
    await new Promise((resolve, reject) => jest.on('error', reject).on('close', resolve))
    if (!existsSync(report)) throw new Error(`Jest wrote no report:\n${said}`)
    return read(report)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** @returns {Outcome & { failedSuites: string[] }} */
const read = (report) => {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'))
  const failed = testResults.flatMap(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter(({ status }) => status === 'failed')
    return tests.length === 0 && message
      ? [`${name}: ${message}`]
      : tests.map(({ fullName, failureMessages }) => `${fullName}\n    ${failureMessages[0]?.split('\n')[0]}`)
  })
  const failedSuites = testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => basename(name, '.test.ts'))
  return {
    passed: numPassedTests,
    failed: Math.max(numFailedTests, failed.length),
    failures: failed,
    failedSuites: [...new Set(failedSuites)],
  }
}
