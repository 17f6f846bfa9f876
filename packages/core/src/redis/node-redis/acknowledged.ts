import { duplicateForOnce, OwnNodeRedis, type NodeRedisClient } from './client.js'
import type { AcknowledgedConnection } from '../redis-port.js'

/** The connection on which replicas are waited for. It never reconnects: the next use opens another. */
export class NodeRedisAcknowledged {
  private current: { readonly own: OwnNodeRedis; readonly used: AcknowledgedConnection } | null = null

  constructor(private readonly client: NodeRedisClient) {}

  open(): AcknowledgedConnection {
    this.current ??= this.dial()
    return this.current.used
  }

  close(): void {
    this.current?.own.end()
    this.current = null
  }

  private dial(): { own: OwnNodeRedis; used: AcknowledgedConnection } {
    const connection = duplicateForOnce(this.client)
    const forget = (): void => {
      if (this.current?.own.client === connection) {
        this.close()
      }
    }
    connection.on('error', forget)
    connection.on('end', forget)
    return { own: new OwnNodeRedis(connection), used: usedBy(connection) }
  }
}

function usedBy(connection: NodeRedisClient): AcknowledgedConnection {
  const send = (...args: string[]): Promise<unknown> => connection.sendCommand(args)
  return {
    evalsha: (sha1, keys, args) => send('EVALSHA', sha1, `${keys.length}`, ...keys, ...args),
    eval: (lua, keys, args) => send('EVAL', lua, `${keys.length}`, ...keys, ...args),
    wait: async (replicas, timeoutMs) => Number(await send('WAIT', `${replicas}`, `${timeoutMs}`)),
  }
}
