/** Names of as many failed tests, so that a cell stays legible. */
const MOST_NAMES = 3

/**
 * @typedef {object} Cell what came of one run, for a table of docs/support.md
 * @property {'passed' | 'failed' | 'missing'} state `missing`: it could not be run here
 * @property {string} said how much was run, or why it failed or was not run
 *
 * @typedef {object} Outcome of tests
 * @property {number} passed
 * @property {number} failed
 * @property {readonly string[]} failures the name of each, and why in the lines below
 * @property {readonly string[]} [again] suites that failed once beside the others, and passed alone
 */

/**
 * A cell of what Jest ran. A run without a test has failed.
 *
 * @param {Outcome} outcome
 * @param {string} extent which tests these are
 * @param {boolean} [counted] whether their number says something
 * @returns {Cell}
 */
export const cellOf = ({ passed, failed, failures, again = [] }, extent, counted = true) => {
  if (passed > 0 && failed === 0) {
    const tests = counted ? `, ${passed.toLocaleString('en-US')} tests` : ''
    const second = again.length > 0 ? `; ${again.join(', ')} in a second run, alone` : ''
    return { state: 'passed', said: extent + tests + second }
  }
  const others = failures.length - MOST_NAMES
  const names = failures.slice(0, MOST_NAMES).map((each) => `\`${each.split('\n')[0].replaceAll('`', "'")}\``)
  if (others > 0) names.push(`and ${others} more`)
  return { state: 'failed', said: `${extent}, ${failed} of ${passed + failed} failed: ${names.join('; ')}` }
}

/**
 * Prints the cells of a run, as docs/support.md has them.
 *
 * @param {string} what was run @param {Record<string, Cell>} cells by column
 * @returns {boolean} whether none has failed
 */
export const printCells = (what, cells) => {
  for (const [column, { state, said }] of Object.entries(cells)) {
    console.log(`${what}, ${column}: ${state === 'missing' ? 'not run' : state}: ${said}`)
  }
  return Object.values(cells).every(({ state }) => state !== 'failed')
}
