export { main } from './cli.js'
export { SCENARIOS, scenarioNamed } from './scenarios/index.js'
export type { Scenario } from './run/scenario.js'
