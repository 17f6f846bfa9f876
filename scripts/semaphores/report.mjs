const MOST_SHOWN = 5

/** @param {ReturnType<typeof import('./verdict.mjs').verdict>} result @param {{ permits: number }} wanted */
export const report = (result, { permits }) => {
  const { taken, most, faults, killed, pool, lostPermits, latches, deaths, problems } = result
  return [
    `${taken.semaphore} times permits without an end, ${taken.permits} times permits that end (${lostPermits} were lost to their holders)`,
    `${faults} faults, ${killed} processes killed; at most ${most} of ${permits} permits in use at once`,
    `without an end: killed processes had ${pool.held}, and wanted or were returning ${pool.inDoubt}; ${pool.lost} are missing`,
    `${latches.rounds} latches: ${latches.passed} waits passed, ${latches.closed} ended before`,
    `at rest ${deaths.killed} processes were killed with ${deaths.held} permits without an end: ${deaths.lost} are missing; ` +
      `those that end were back after ${Math.round(deaths.backMs)} ms`,
    ...problems.slice(0, MOST_SHOWN),
    problems.length === 0 ? 'No violation.' : `${problems.length} violations.`,
  ].join('\n')
}
