export type { FenceOptions, TokenHolder } from './claim.js'
export { FenceUndecidedError, StaleHolderError } from './errors.js'
export { FENCE_TABLE, type FenceDatabase } from './statements.js'
