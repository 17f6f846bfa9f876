import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What every kind of lock promises, wherever its Redis is. */
const SUITES = ['conformance', 'conformance-renewal', 'hold', 'identity', 'reentry', 'non-reentrant-lock']
const SMOKE = ['conformance']

/** These count the connections to one server. */
const NOT_ON_CLUSTERS = ['leaves the connection it was given open', 'closes the connection it opened itself']
const CLIENTS = ['ioredis6', 'ioredis5']
/** node-redis's Sentinel and cluster are not supported. */
const CLIENTS_OF_ONE_SERVER = [...CLIENTS, 'noderedis6']

/**
 * Runs the contract suites on what was started.
 *
 * @param {{ topology: object, url?: string }} started
 * @param {{ smoke: boolean, interrupted: AbortSignal }} how
 * @returns {Promise<{ passed: number, failed: number, failures: string[] }>}
 */
export const runSuites = async ({ topology, url }, { smoke, interrupted }) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-topology-'))
  const report = join(folder, 'report.json')
  const suites = (smoke ? SMOKE : SUITES).map((name) => `packages/core/test/redis/${name}.test.ts`)
  const clients = topology.kind === 'single' ? CLIENTS_OF_ONE_SERVER : CLIENTS
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  const without = topology.kind === 'cluster' ? ['-t', `^(?!.*(${NOT_ON_CLUSTERS.join('|')}))`] : []
  const args = [
    'node_modules/jest/bin/jest.js',
    ...without,
    '--silent',
    '--json',
    '--outputFile',
    report,
    '-w',
    '2',
  ]
  const jest = spawn(
    process.execPath,
    [...flags, ...args, ...suites, '--selectProjects', ...(smoke ? clients.slice(0, 1) : clients)],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        // Every kind of lock with each of them.
        HOLDFAST_TEST_EVERY_CLIENT: '1',
        HOLDFAST_TEST_TOPOLOGY: JSON.stringify(topology),
        ...(url === undefined ? {} : { HOLDFAST_TEST_REDIS_URL: url }),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      signal: interrupted,
    },
  )
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

const read = (report) => {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'))
  const failed = testResults.flatMap(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter(({ status }) => status === 'failed')
    return tests.length === 0 && message
      ? [`${name}: ${message}`]
      : tests.map(({ fullName, failureMessages }) => `${fullName}\n    ${failureMessages[0]?.split('\n')[0]}`)
  })
  return { passed: numPassedTests, failed: Math.max(numFailedTests, failed.length), failures: failed }
}
