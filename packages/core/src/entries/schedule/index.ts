export { exclusive } from './exclusive.js'
export type {
  ExclusiveOptions,
  ExclusiveRun,
  Scheduled,
  SkipReason,
  TickOptions,
  TickOutcome,
} from './exclusive.js'
export { assertLocked } from './current-run.js'
export { ticksOf } from './ticks.js'
export type { TickRecord } from './ticks.js'
