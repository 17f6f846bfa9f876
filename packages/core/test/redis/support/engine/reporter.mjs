import { EXCEPTIONS } from './exceptions.mjs'

/** The least part of the tests of these suites that has to run on the engine. */
const LEAST_SHARE = 0.95

/** Fails a run of all suites on the engine when too many are exceptions, or one is of a test that is not there. */
export default class ExceptionsReporter {
  #complaint

  onRunComplete(_contexts, { testResults }) {
    const onEngine = testResults.filter(
      ({ displayName, testExecError }) => displayName?.name === 'engine' && !testExecError,
    )
    const tests = onEngine.flatMap(({ testResults: its }) => its)
    const left = tests.filter(({ status }) => status === 'pending')
    const stale = EXCEPTIONS.filter(({ title }) => !tests.some((test) => test.title.includes(title)))
    // A part of the suites has a part of the exceptions only.
    if (tests.length === 0 || stale.length === EXCEPTIONS.length || isPart(onEngine)) return
    const share = 1 - left.length / tests.length
    const told = `${tests.length - left.length} of ${tests.length} tests (${(100 * share).toFixed(1)} %) run on the engine`
    console.log(`${told}; each of the others is in exceptions.mjs, with its reason.`)
    const complaints = [
      ...(share < LEAST_SHARE ? [`${told}: at least ${100 * LEAST_SHARE} % have to`] : []),
      ...stale.map(({ title }) => `exceptions.mjs: no test has '${title}' in its title`),
    ]
    if (complaints.length > 0) this.#complaint = new Error(complaints.join('\n'))
  }

  getLastError() {
    return this.#complaint
  }
}

/** Suites of exceptions that were not run, or not wholly: with `--testPathPatterns`, or `--testNamePattern`. */
const isPart = (results) => {
  const args = process.argv.join(' ')
  return (
    results.length === 0 || /--test(Path|Name)Pattern|-t |--shard|--onlyFailures|--onlyChanged/.test(args)
  )
}
