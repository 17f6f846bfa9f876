const GRACE_MS = 1_000

/**
 * A latch opens when it was counted down as often as it was set to, not before, and for all who wait.
 *
 * @param {object[]} events in order of time
 * @param {{ latch: string, counts: number, left: number }[]} latches `left`: at rest
 * @param {{ fromMs: number, toMs: number }[]} faults
 * @returns {{ passed: number, closed: number, problems: string[] }}
 */
export const checkLatches = (events, latches, faults) => {
  const total = { passed: 0, closed: 0, problems: [] }
  for (const { latch, counts, left } of latches) {
    const ofLatch = events.filter((event) => event.latch === latch)
    const times = (kind) => ofLatch.filter((event) => event.kind === kind).map(({ atMs }) => atMs)
    const [begun, counted] = [times('count'), times('counted')]
    const opensMs = { earliest: begun[counts - 1] ?? Infinity, latest: counted[counts - 1] ?? Infinity }
    total.passed += times('passed').length
    total.closed += times('closed').length
    const isLeft = left >= Math.max(0, counts - begun.length) && left <= Math.max(0, counts - counted.length)
    const range = `${counts - begun.length} to ${counts - counted.length}`
    total.problems.push(
      ...times('passed')
        .filter((atMs) => atMs < opensMs.earliest)
        .map(() => `I1 ${latch} let somebody pass after ${begun.length} of ${counts} counts`),
      ...[...times('passed'), ...times('closed')]
        .filter((atMs) => atMs > opensMs.latest + GRACE_MS && isCalm(faults, opensMs.latest, atMs))
        .map(
          (atMs) =>
            `I4 ${latch} kept somebody waiting ${Math.round(atMs - opensMs.latest)} ms after it opened`,
        ),
      ...(isLeft ? [] : [`I2 ${latch} counts ${left} at rest, it should be ${range}`]),
    )
  }
  return total
}

const isCalm = (faults, fromMs, toMs) => !faults.some((fault) => fault.fromMs <= toMs && fault.toMs >= fromMs)
