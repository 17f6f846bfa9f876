import { best, measured } from '../comparison.mjs'

const LONGEST_WAIT_MS = 250

/** Bars of locks held for no time, with so many processes: pairs/s. In one process it is passes that are asked for. */
const PAIRS_OF_BEST_PEER = new Map([[4, 5]])
const PASSES_OF_BEST_PEER = 25

export const nameOf = ({ processes, flows, holdMs, leavesTurn }) =>
  `${processes === 1 ? 'one process' : `${processes} processes`}, ${flows} flows${processes === 1 ? '' : ' each'}, held for ${leavesTurn ? 'a turn of the event loop' : `${holdMs} ms`}`

export const sameCase = (one, other) =>
  ['processes', 'flows', 'holdMs', 'leavesTurn'].every((key) => one[key] === other[key])

/** Beside the best peer; and how evenly the lock went round. */
export const contendedBars = ({ results, cases, chains = [], timers = [] }) => [
  ...cases.flatMap((each) => {
    const here = measured(results).filter((result) => sameCase(result, each))
    const of = (name) => here.find((result) => result.name === name)
    const [plain, fair] = [of('Holdfast withLock'), of('Holdfast fair lock')]
    const beside = [...besidePeer(plain, here, each), ...passesBesidePeer(plain, here, each)]
    if (plain && each.leavesTurn) beside.push(commandsOf(plain, each))
    if (each.processes !== 4 || each.holdMs > 0) return beside
    const chain = chains.find(({ processes }) => processes === each.processes)
    return [
      ...beside,
      ...(plain ? [evenness(plain, each, 0.8), longestWait(plain, each)] : []),
      ...(fair && chain ? [besideChain(fair, chain, each)] : []),
      ...(fair ? [evenness(fair, each, 0.95)] : []),
    ]
  }),
  ...timers.map(({ chain, lateMs, idleMs }) => ({
    text: `a timer of 1 ms beside ${chain}: p99.9, above an idle process, ms`,
    value: lateMs - idleMs,
    most: 15,
  })),
]

/** Callers of one process pass the lock on without Redis. */
const commandsOf = (ours, each) => ({
  text: `${nameOf(each)}, ${ours.name}: commands a pair`,
  value: ours.commands.median,
  most: 0.2,
})

const besidePeer = (ours, here, each) => {
  const peers = here.filter(({ kind }) => kind === 'peer')
  const peer = best(peers, ({ pairsPerSecond }) => -pairsPerSecond.median)
  if (!ours || !peer) return []
  const least = each.holdMs === 0 ? PAIRS_OF_BEST_PEER.get(each.processes) : undefined
  return [
    {
      text: `${nameOf(each)}: pairs/s of ${peer.name}, the best peer`,
      value: ours.pairsPerSecond.median / peer.pairsPerSecond.median,
      ...(least === undefined ? {} : { least }),
    },
  ]
}

/** How often the lock changes hands: who takes again what it has just released passes nothing on. */
const passesBesidePeer = (ours, here, each) => {
  const peers = here.filter(({ kind, passesPerSecond }) => kind === 'peer' && passesPerSecond)
  const peer = best(peers, ({ passesPerSecond }) => -passesPerSecond.median)
  if (!ours?.passesPerSecond || !peer) return []
  return [
    {
      text: `${nameOf(each)}: passes/s of ${peer.name}, the best peer`,
      value: ours.passesPerSecond.median / peer.passesPerSecond.median,
      // Two flows mostly take it again.
      ...(each.holdMs === 0 && each.flows > 2 ? { least: PASSES_OF_BEST_PEER } : {}),
    },
  ]
}

const evenness = (ours, each, least) => ({
  text: `${nameOf(each)}, ${ours.name}: Jain index over the flows`,
  value: ours.jain.median,
  least,
})

const longestWait = (ours, each) => ({
  text: `${nameOf(each)}, ${ours.name}: longest wait, ms`,
  value: ours.longestWaitMs.max,
  most: LONGEST_WAIT_MS,
})

const besideChain = (ours, chain, each) => ({
  text: `${nameOf(each)}, ${ours.name}: pairs/s of a chain of pushes`,
  value: ours.pairsPerSecond.median / chain.perSecond,
  least: 0.7,
})
