// A process of the bench. What it does is asked for by its parent, and it ends with it.
import { serveWorker } from '@holdfast/faults/harness'
import { contend } from '../contend.mjs'
import * as arrivals from './arrivals.mjs'
import * as chain from './chain.mjs'
import * as crowd from './crowd.mjs'
import * as delayLine from './delay-line.mjs'
import * as flows from './flows.mjs'
import * as holding from './holding.mjs'
import * as inMemory from './in-memory.mjs'
import * as many from './many.mjs'
import * as neighbour from './neighbour.mjs'
import { flowOf, open } from './opened.mjs'
import * as share from './share.mjs'
import * as turns from './turns.mjs'

serveWorker({
  openFlows: flows.openFlows,
  closeFlows: flows.closeFlows,
  runFlows: flows.runFlows,
  timersBeside: flows.timersBeside,
  timersBesideChain: inMemory.timersBesideChain,
  repeatPairs: flows.repeatPairs,
  pairTimes: flows.pairTimes,
  open,
  contend: ({ variant, name, flows: count, ...how }) =>
    contend(
      Array.from({ length: count }, () => flowOf({ variant, name })),
      how,
    ),
  joinChain: chain.join,
  startChain: chain.start,
  hopsOfChain: chain.hops,
  leaveChain: chain.leave,
  push: chain.push,
  pushed: chain.pushed,
  hold: holding.hold,
  letGo: holding.letGo,
  waitFor: holding.waitFor,
  gather: crowd.gather,
  idle: crowd.idle,
  drained: crowd.drained,
  progress: crowd.progress,
  takeMany: many.takeMany,
  startCycle: many.startCycle,
  endCycle: many.endCycle,
  letAllGo: many.letAllGo,
  openShare: share.openShare,
  closeShare: share.closeShare,
  callShare: share.callShare,
  heardPush: share.heardPush,
  barePush: share.barePush,
  openArrivals: arrivals.openArrivals,
  closeArrivals: arrivals.closeArrivals,
  takeArrivals: arrivals.takeArrivals,
  openTurns: turns.openTurns,
  takeTurns: turns.takeTurns,
  closeTurns: turns.closeTurns,
  openNetwork: delayLine.openNetwork,
  watchNetwork: delayLine.watchNetwork,
  networkUsage: delayLine.networkUsage,
  startBurning: neighbour.startBurning,
  stopBurning: neighbour.stopBurning,
})
