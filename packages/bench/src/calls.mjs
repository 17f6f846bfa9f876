const PAIRS_PER_FLOW = 20

/**
 * Checks by Redis's own counts that each contestant locks and unlocks as often as it says. No time is measured.
 *
 * @param {import('./cells.mjs').Cell[]} cells
 * @param {{ flows: number }} how
 * @param {import('./context.mjs').Context} context
 * @returns {Promise<string[]>} what is wrong
 */
export const callsProblems = async (cells, { flows }, { info, signal }) => {
  const problems = []
  for (const cell of cells) {
    signal.throwIfAborted()
    const wrong = await wrongOf(cell, flows, info).catch((error) => error.message)
    if (wrong) problems.push(`${cell.name} (${cell.setting}): ${wrong}`)
  }
  return problems
}

/** @returns {Promise<string | undefined>} */
const wrongOf = async (cell, flows, info) => {
  // Scripts are loaded at their first use: a call that failed for want of one would count.
  await cell.repeat({ flows: 1, times: 1 })
  await cell.repeat({ flows, times: 1 })
  const before = await info.calls()
  await cell.repeat({ flows, times: PAIRS_PER_FLOW })
  const after = await info.calls()
  const pairs = flows * PAIRS_PER_FLOW
  return Object.entries(cell.calls)
    .map(([command, perPair]) => {
      const counted = (after.get(command) ?? 0) - (before.get(command) ?? 0)
      const expected = perPair * pairs
      return counted === expected ? '' : `${pairs} pairs made ${counted} calls of ${command}, not ${expected}`
    })
    .filter(Boolean)
    .join('; ')
}
