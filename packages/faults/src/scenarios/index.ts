import type { Scenario } from '../run/scenario.js'
import { abandoned } from './abandoned.js'
import { failover } from './failover.js'
import { queue } from './queue.js'
import { pauses } from './pauses.js'
import { runCommand } from './run-command.js'
import { replay } from './replay.js'
import { telemetry } from './telemetry.js'
import { topologies } from './topologies.js'
import { torture } from './torture.js'
import { twoVersions } from './two-versions.js'
import { underLoad } from './under-load.js'

/** All fault programs. A new one is a file here and a line in this list. */
export const SCENARIOS: readonly Scenario[] = [
  torture,
  twoVersions,
  pauses,
  replay,
  failover,
  queue,
  telemetry,
  abandoned,
  runCommand,
  underLoad,
  topologies,
]

export const scenarioNamed = (name: string): Scenario | undefined =>
  SCENARIOS.find((each) => each.name === name)
