// Helpers that Holdfast's own packages share. They may change with every version: nothing else should import them.
export { checkOptions, type KnownKeys, nativeSignal } from '../door.js'
export { lockClientClosed, lockClientOf } from './lock-client-of.js'
