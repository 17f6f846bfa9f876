/** Results that were measured, without those that failed. */
export const measured = (results) => results.filter(({ failure }) => failure === undefined)

/** @template T @param {T[]} results @param {(each: T) => number} cost @returns {T | undefined} the one that costs least */
export const best = (results, cost) => results.toSorted((a, b) => cost(a) - cost(b))[0]

/** Pairs per second. */
export const speed = ({ pairsPerSecond }) => pairsPerSecond.median

/** The peer that has the most pairs per second, at whatever setting is best for it. */
export const fastestPeer = (results) =>
  best(
    measured(results).filter(({ kind }) => kind === 'peer'),
    (each) => -speed(each),
  )

/** Results of one setting, each with its ratio to the raw scripts and to the best peer there. */
export const inSettings = (results, setting) => {
  const here = results.filter((each) => each.setting === setting)
  const raw = measured(here).find(({ kind }) => kind === 'raw')
  const peer = fastestPeer(here)
  return here.map((each) =>
    each.failure !== undefined
      ? each
      : {
          ...each,
          ofRaw: raw && speed(each) / speed(raw),
          ofBestPeer: peer && speed(each) / speed(peer),
        },
  )
}
