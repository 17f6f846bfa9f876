const ANOTHER_COPY =
  'of the copy of @holdfast/core that is called: this process has loaded two, such as the ES module and the CommonJS ' +
  'build, or two versions. Take client, locks and functions from one'

/** The check that an object has to pass: another rule where it looks right, and is of another copy of this package. */
export function ruleFor(given: unknown, parts: readonly string[], rule: string): string {
  const isAlike = typeof given === 'object' && given !== null && parts.every((part) => part in given)
  return isAlike ? ANOTHER_COPY : rule
}
