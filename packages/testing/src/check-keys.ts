/**
 * A misspelt key would have no effect, and the test that it is in would pass.
 * @throws TypeError it is no object, or has a key that is not among these
 */
export function checkKeys(argument: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError(`${argument} must be an object, but is ${JSON.stringify(given)}`)
  }
  const unknown = Object.keys(given).find((key) => !known.includes(key))
  if (unknown !== undefined) {
    const it = JSON.stringify(given)
    throw new TypeError(`${argument} has no ${unknown}, only ${known.join(', ')}, but is ${it}`)
  }
}
