// Prints what each look has seen, a line of JSON each.
export default class PlantedReporter {
  onTestFileResult({ context }, { numPassingTests, testResults, testExecError, failureMessage }) {
    const failed = testResults.find(({ status }) => status === 'failed')
    const look = Number(context.config.displayName.name)
    const error = testExecError ? (failureMessage ?? String(testExecError.message)) : undefined
    console.log(JSON.stringify({ look, failed: failed?.fullName, passed: numPassingTests, error }))
  }
}
