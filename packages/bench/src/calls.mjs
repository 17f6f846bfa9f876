const PAIRS_PER_FLOW = 20

/**
 * Checks by Redis's own counts that each contestant locks and unlocks as often as it says. No time is measured.
 *
 * @param {import('./cells.mjs').Cell[]} cells
 * @param {import('./context.mjs').Context} context
 * @returns {Promise<string[]>} what is wrong
 */
export const callsProblems = async (cells, { info, signal }) => {
  const problems = []
  for (const cell of cells) {
    signal.throwIfAborted()
    const wrong = await wrongOf(cell, info).catch((error) => error.message)
    if (wrong) problems.push(`${cell.name} (${cell.setting}): ${wrong}`)
  }
  return problems
}

/** @returns {Promise<string | undefined>} */
const wrongOf = async ({ flows, calls }, info) => {
  // Scripts are loaded at their first use, one flow after another: a call that failed for want of one would count.
  for (const pair of flows) await pair()
  const before = await info.calls()
  for (let i = 0; i < PAIRS_PER_FLOW; i += 1) await Promise.all(flows.map((pair) => pair()))
  const after = await info.calls()
  const pairs = flows.length * PAIRS_PER_FLOW
  return Object.entries(calls)
    .map(([command, perPair]) => {
      const counted = (after.get(command) ?? 0) - (before.get(command) ?? 0)
      const expected = perPair * pairs
      return counted === expected ? '' : `${pairs} pairs made ${counted} calls of ${command}, not ${expected}`
    })
    .filter(Boolean)
    .join('; ')
}
