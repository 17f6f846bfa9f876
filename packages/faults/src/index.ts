export { main } from './cli.js'
export { SCENARIOS } from './scenarios/index.js'
export type { Scenario } from './run/scenario.js'
export { commitOf, coreAt, MissingHistoryError } from './run/other-core.js'
