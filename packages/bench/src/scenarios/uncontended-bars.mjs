import { holdfastUnbatched } from '../contestants/holdfast.mjs'
import { best, fastestPeer, measured, speed } from '../comparison.mjs'

const whoIs = ({ name, setting, flows }) =>
  `${flows === 1 ? '1 flow' : `${flows} flows`}, ${name} (${setting})`

/** Beside the peers, whatever setting is best for them; and beside the same scripts raw, at equal settings. */
export const uncontendedBars = ({ results, mainFlows }) => {
  const all = measured(results)
  const main = all.filter(({ flows }) => flows === mainFlows)
  const ours = main.filter(({ kind }) => kind === 'holdfast')
  const alone = all.filter(
    ({ kind, flows, setting }) => kind === 'holdfast' && flows === 1 && setting === 'off',
  )
  return [
    // Auto-pipelining is not what anybody would switch on for Holdfast.
    ...ours
      .filter(({ setting, name }) => setting !== 'on' && name !== holdfastUnbatched.name)
      .flatMap((each) => besidePeers(each, main)),
    ...ours.flatMap((each) => besideRaw(each, all)),
    // A single flow has nothing to share: Holdfast sends what raw sends.
    ...alone.flatMap((each) => besideRaw(each, all)),
  ]
}

const besidePeers = (each, main) => {
  const peers = main.filter(({ kind }) => kind === 'peer')
  const fastest = fastestPeer(peers)
  if (!fastest) return []
  const cpu = (figure, of) => {
    const cheapest = best(peers, (peer) => peer[figure].median)
    return {
      text: `${whoIs(each)}: CPU of ${of} per pair, of ${cheapest.name} (${cheapest.setting}), the cheapest peer`,
      value: each[figure].median / cheapest[figure].median,
      most: 1,
    }
  }
  return [
    {
      text: `${whoIs(each)}: pairs/s, of ${fastest.name} (${fastest.setting}), the best peer`,
      value: speed(each) / speed(fastest),
      least: 2,
    },
    cpu('clientMicros', 'the client'),
    cpu('redisMicros', 'Redis'),
    // Whoever asks for the least of Redis is not the fastest: a user of that one has this.
    {
      text: `${whoIs(each)}: CPU of Redis per pair, of ${fastest.name} (${fastest.setting}), the best peer`,
      value: each.redisMicros.median / fastest.redisMicros.median,
    },
  ]
}

const besideRaw = (each, all) => {
  const raw = all.find(
    ({ kind, setting, flows }) => kind === 'raw' && setting === each.setting && flows === each.flows,
  )
  if (!raw) return []
  return [
    {
      text: `${whoIs(each)}: pairs/s, of the same scripts raw`,
      value: speed(each) / speed(raw),
      least: 0.95,
    },
  ]
}
