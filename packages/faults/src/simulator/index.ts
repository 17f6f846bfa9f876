export { main } from './cli.js'
export { play, type Episode } from './episode.js'
export { planOf, type Plan } from './work/plan.js'
