import type { Scenario } from '../run/scenario.js'
import { pauses } from './pauses.js'
import { replay } from './replay.js'
import { topologies } from './topologies.js'
import { torture } from './torture.js'
import { twoVersions } from './two-versions.js'
import { underLoad } from './under-load.js'

/** All fault programs. A new one is a file here and a line in this list. */
export const SCENARIOS: readonly Scenario[] = [torture, twoVersions, pauses, replay, underLoad, topologies]
