import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url))
const SUITES = 'packages/core/test/redis'
const LIMIT_MS = 40 * 60_000

/** The suites that `runSuites` runs, and where. */
export interface SuitesWanted {
  /** Projects of jest.config.js. */
  readonly projects: readonly string[]
  /** Test files of core against Redis, by the name before `.test.ts`; none: all files of the projects. */
  readonly suites: readonly string[]
  /** The Node that runs them; by default the one that runs this. */
  readonly program?: string
  /** Parts of the names of tests that are left out. */
  readonly without?: readonly string[]
  /** Added to the environment: by it tests find their servers. */
  readonly env?: Readonly<Record<string, string>>
  /** Ends the run. */
  readonly interrupted: AbortSignal
  /** Ends it too: by default after forty minutes. */
  readonly limitMs?: number
}

/** How the tests of some suites ended. */
export interface SuitesOutcome {
  readonly passed: number
  readonly failed: number
  /** For each test that failed its name and, in the lines below, why. */
  readonly failures: readonly string[]
  /** Those with such a test, by the names that `SuitesWanted` has. */
  readonly failedSuites: readonly string[]
}

/**
 * Runs suites of core with Jest, two files at a time, and resolves when they have ended.
 * @throws Error a suite has no file, which would otherwise be left out silently; or Jest wrote no report
 */
export const runSuites = async (wanted: SuitesWanted): Promise<SuitesOutcome> => {
  const all = readdirSync(join(ROOT, SUITES), { recursive: true }).map(String)
  const files = wanted.suites.map((name) => {
    const file = all.find((each) => basename(each) === `${name}.test.ts`)
    if (file === undefined) throw new Error(`suites: there is no ${name}.test.ts in ${SUITES}`)
    return join(SUITES, file)
  })
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-suites-'))
  try {
    return outcomeOf(await reportOf(wanted, files, join(folder, 'report.json')))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** @returns what Jest wrote into the file `report` */
const reportOf = async (wanted: SuitesWanted, files: string[], report: string): Promise<string> => {
  const { projects, program = process.execPath, without = [], env, interrupted, limitMs = LIMIT_MS } = wanted
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  const options = ['--silent', '--json', '--outputFile', report, '-w', '2', '--selectProjects', ...projects]
  const tests = without.length > 0 ? ['-t', `^(?!.*(${without.join('|')}))`] : []
  const jest = spawn(program, [...flags, 'node_modules/jest/bin/jest.js', ...files, ...options, ...tests], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: AbortSignal.any([interrupted, AbortSignal.timeout(limitMs)]),
  })
  let said = ''
  jest.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  await once(jest, 'close')
  return readFile(report, 'utf8').catch(() => {
    throw new Error(`Jest wrote no report:\n${said}`)
  })
}

/** Jest's report of its tests, as far as it is read here. */
interface JestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

/** @param report what Jest wrote with `--json --outputFile` */
export const outcomeOf = (report: string): SuitesOutcome => {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(report) as JestReport
  const failures = testResults.flatMap(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter(({ status }) => status === 'failed')
    // A file that could not be loaded has a message and no tests.
    return tests.length === 0 && message
      ? [`${name}: ${message}`]
      : tests.map(({ fullName, failureMessages: [why = ''] }) => `${fullName}\n${withoutStack(why)}`)
  })
  const failedSuites = testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => basename(name, '.test.ts'))
  return {
    passed: numPassedTests,
    failed: Math.max(numFailedTests, failures.length),
    failures,
    failedSuites: [...new Set(failedSuites)],
  }
}

const withoutStack = (message: string): string =>
  (message.split(/\n\s+at /)[0] ?? '').replace(/\n+/g, '\n').replace(/^/gm, '    ')
