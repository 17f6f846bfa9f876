import type { Scenario } from '../run/scenario.js'
import { election } from './election.js'
import { abandoned } from './abandoned.js'
import { failover } from './failover.js'
import { failures } from './failures.js'
import { fairLine } from './fair-line.js'
import { queue } from './queue.js'
import { pauses } from './pauses.js'
import { runCommand } from './run-command.js'
import { readersAndWriters } from './readers-and-writers.js'
import { replay } from './replay.js'
import { semaphores } from './semaphores.js'
import { redLockHung } from './red-lock-hung.js'
import { telemetry } from './telemetry.js'
import { share } from './share.js'
import { sharedConnection } from './shared-connection.js'
import { tokens } from './tokens.js'
import { travellingHolds } from './travelling-holds.js'
import { topologies } from './topologies.js'
import { torture } from './torture.js'
import { twoVersions } from './two-versions.js'
import { underLoad } from './under-load.js'
import { vanishingKeys } from './vanishing-keys.js'
import { wakeUps } from './wake-ups.js'

/** All fault programs. A new one is a file here and a line in this list. */
export const SCENARIOS: readonly Scenario[] = [
  torture,
  twoVersions,
  travellingHolds,
  election,
  share,
  sharedConnection,
  vanishingKeys,
  pauses,
  replay,
  failover,
  failures,
  readersAndWriters,
  tokens,
  fairLine,
  wakeUps,
  semaphores,
  redLockHung,
  queue,
  telemetry,
  abandoned,
  runCommand,
  underLoad,
  topologies,
]

export const scenarioNamed = (name: string): Scenario | undefined =>
  SCENARIOS.find((each) => each.name === name)
