// Recognizes clients that users might pass but Holdfast cannot use, so that the error can name them and the
// alternative.

type Like = Record<string, unknown>

const NODE_REDIS_VERSIONS = '5.5.5 or newer, or 6'

/**
 * For clients that cannot run scripts like ioredis or node-redis. @returns what to pass instead; null: no such client
 */
export function withoutScripting(value: unknown): string | null {
  const client = (value ?? {}) as Like
  if (typeof client.invokeScript === 'function' && typeof client.customCommand === 'function') {
    return 'a client of ioredis, iovalkey or node-redis: Valkey GLIDE is not supported'
  }
  // node-redis 3 and older, whose commands take callbacks.
  if (typeof client.internal_send_command === 'function') {
    return olderThanSupported('a client')
  }
  return null
}

/** @returns what to pass instead of such a client; null: no such client */
export function unusableClient(value: unknown): string | null {
  const other = withoutScripting(value)
  const client = (value ?? {}) as Like
  // Only a client of one connection, since node-redis 5.1, counts its sockets.
  if (other !== null || typeof client.evalSha !== 'function' || typeof client.socketEpoch === 'number') {
    return other
  }
  const isKnown = ['nodeClient', 'getSentinelNode', 'execute'].some((name) => name in client)
  return isKnown || typeof client.isReady === 'boolean'
    ? olderThanSupported('a client')
    : "a client from createClient: node-redis's legacy() is not supported"
}

/** Options that a client would silently accept, to go elsewhere. @returns as unusableClient */
export function unusableOptions(options: object): string | null {
  if ('addresses' in options) {
    return 'options of ioredis, iovalkey or node-redis: `addresses` is an option of Valkey GLIDE, which is not supported'
  }
  if ('sentinelRootNodes' in options) {
    return madeBy('createSentinel')
  }
  if ('rootNodes' in options) {
    return madeBy('createCluster')
  }
  // Each client ignores the other's name, and goes to database 0.
  const isForNodeRedis = 'url' in options || 'socket' in options
  if (isForNodeRedis ? 'db' in options : 'database' in options) {
    const [right, wrong] = isForNodeRedis ? ['database', 'db'] : ['db', 'database']
    return `options of one client: there the database is \`${right}\`, and \`${wrong}\` is the name of another client`
  }
  return null
}

/** @param what the node-redis object passed or installed */
export function olderThanSupported(what: string): string {
  return `${what} of node-redis ${NODE_REDIS_VERSIONS}, or of ioredis 5 or 6: this is an older node-redis`
}

function madeBy(kind: string): string {
  return `a client, or a URL: these are options of node-redis's ${kind}, whose client can be given`
}
