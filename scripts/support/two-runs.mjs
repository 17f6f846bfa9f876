/**
 * Runs suites, and those that fail once more, alone: on a machine that others use, leases of some hundred milliseconds
 * end rightly. The outcome names them.
 *
 * @param {(suites?: readonly string[]) => Promise<import('@holdfast/faults/harness').SuitesOutcome>} run all of them, or
 *   only these
 * @returns {Promise<import('./cell.mjs').Outcome>}
 */
export const inTwoRuns = async (run) => {
  const { failedSuites, ...first } = await run()
  if (first.failed === 0 || failedSuites.length === 0) return first
  const alone = await run(failedSuites)
  if (alone.failed > 0) return { passed: first.passed, failed: alone.failed, failures: alone.failures }
  return { passed: first.passed + first.failed, failed: 0, failures: [], again: failedSuites }
}
