const BARS = { peer: 1, raw: 0.95 }

/** Results of one setting, each with its ratio to the raw scripts and to the best peer there. */
export const compare = (results) => {
  const measured = results.filter((each) => each.failure === undefined)
  const speed = (each) => each.pairsPerSecond.median
  const raw = measured.find((each) => each.kind === 'raw')
  const peers = measured.filter((each) => each.kind === 'peer').toSorted((a, b) => speed(b) - speed(a))
  const bestPeer = peers[0]
  return results.map((each) => {
    if (each.failure !== undefined) return each
    return {
      ...each,
      ...(raw ? { ofRaw: speed(each) / speed(raw) } : {}),
      ...(bestPeer ? { bestPeer: bestPeer.name, ofBestPeer: speed(each) / speed(bestPeer) } : {}),
    }
  })
}

/** Whether Holdfast reaches the bars at equal settings. They decide no exit code: one run on one machine is a hint. */
export const barsOf = (compared) =>
  compared
    .filter((each) => each.kind === 'holdfast' && each.failure === undefined && each.ofRaw !== undefined)
    .flatMap((each) => [
      ...(each.bestPeer === undefined
        ? []
        : [bar(each, 'peer', `of the best peer, ${each.bestPeer}`, each.ofBestPeer)]),
      bar(each, 'raw', 'of the same scripts raw', each.ofRaw),
    ])

const bar = ({ name, setting }, kind, what, ratio) => {
  const met = ratio >= BARS[kind]
  const text = `auto-pipelining ${setting}, ${name}: ${ratio.toFixed(2)} ${what} (bar ${BARS[kind].toFixed(2)})`
  return { met, text: `${met ? 'met    ' : 'not met'}  ${text}` }
}
