// Clients that a user may well hand over and that Holdfast cannot use, told from their form, so that an error can name
// them and what to use instead.

type Like = Record<string, unknown>

const NODE_REDIS_VERSIONS = '5.5.5 or newer, or 6'

/** Runs no script as ioredis or node-redis do. @returns what has to be given instead; null: none of those known here */
export function withoutScripting(value: unknown): string | null {
  const client = (value ?? {}) as Like
  if (typeof client.invokeScript === 'function' && typeof client.customCommand === 'function') {
    return 'a client of ioredis, iovalkey or node-redis: one of Valkey GLIDE is something that Holdfast cannot use'
  }
  // Of node-redis 3 and older, whose commands take callbacks.
  if (typeof client.internal_send_command === 'function') {
    return olderThanSupported('a client')
  }
  return null
}

/** @returns what has to be given instead of such a client; null: none of those known here */
export function unusableClient(value: unknown): string | null {
  const other = withoutScripting(value)
  const client = (value ?? {}) as Like
  // Only a client of one connection, since node-redis 5.1, counts its sockets.
  if (other !== null || typeof client.evalSha !== 'function' || typeof client.socketEpoch === 'number') {
    return other
  }
  if (typeof client.nodeClient === 'function') {
    return insteadOf('createCluster')
  }
  if (typeof client.getSentinelNode === 'function') {
    return insteadOf('createSentinel')
  }
  if (typeof client.execute === 'function') {
    return insteadOf('createClientPool')
  }
  return typeof client.isReady === 'boolean' ? olderThanSupported('a client') : insteadOf('legacy')
}

/** Options that ioredis would take without a word, and go to localhost with. @returns as unusableClient */
export function unusableOptions(options: object): string | null {
  if ('addresses' in options) {
    return 'options of ioredis, iovalkey or node-redis: `addresses` is one of Valkey GLIDE, which Holdfast cannot use'
  }
  if ('sentinelRootNodes' in options) {
    return insteadOf('createSentinel')
  }
  if ('rootNodes' in options) {
    return insteadOf('createCluster')
  }
  return null
}

/** @param what of node-redis was given, or is installed */
export function olderThanSupported(what: string): string {
  return `${what} of node-redis ${NODE_REDIS_VERSIONS}, or of ioredis 5 or 6: this is an older node-redis`
}

function insteadOf(kind: string): string {
  return `a client of one connection: createClient instead of node-redis's ${kind}, which Holdfast cannot use`
}
