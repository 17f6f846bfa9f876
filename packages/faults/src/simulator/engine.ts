// The engine of @holdfast/testing, which its package keeps to itself: the same Lua as in production, no second
// implementation of any transition.
export { Engine } from '../../../testing/build/engine/engine.js'
export type { Connection } from '../../../testing/build/engine/connection.js'
export { fromBytes, toBytes } from '../../../testing/build/engine/bytes.js'
export { ErrorReply, type Reply } from '../../../testing/build/engine/reply.js'
export { asClientHasIt } from '../../../testing/build/client/line.js'
export type { Keyspace, Value } from '../../../testing/build/engine/keyspace.js'
export { SortedSet } from '../../../testing/build/engine/sorted-set.js'
