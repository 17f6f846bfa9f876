import type { AcknowledgedConnection } from './redis-port.js'

/** Where a connection is, as its server says: the options of its client may be out of date. */
export interface ConnectionPlace {
  readonly database: number
  readonly name: string
}

/**
 * Asks over the connection itself, behind what was sent on it before. Null: the server does not say (ACL, a wrapper).
 * @throws Error no answer, or another one, as inside a transaction: the place is unknown
 */
export async function placeOf(
  ask: () => Promise<unknown> | undefined,
  isErrorReply: (error: unknown) => boolean,
): Promise<ConnectionPlace | null> {
  let reply: unknown
  try {
    reply = await ask()
  } catch (error) {
    if (isErrorReply(error)) {
      return null
    }
    throw error
  }
  if (reply === undefined) {
    return null
  }
  const text = typeof reply === 'string' ? reply : ''
  const [, database] = / db=(\d+)/.exec(text) ?? []
  if (database === undefined) {
    throw new Error('The reply to CLIENT INFO names no database.')
  }
  return { database: Number(database), name: / name=(\S*)/.exec(text)?.[1] ?? '' }
}

/** @throws Error a lock taken there would be another one than that of the client's own connection */
export function requireSamePlace(own: ConnectionPlace | null, wanted: ConnectionPlace | null): void {
  if (own && wanted && own.database !== wanted.database) {
    throw new Error(
      `The connection for replicas is in database ${own.database}, and that of the client in ${wanted.database}.`,
    )
  }
}

/** @throws Error the port was closed, or has left the primary, while the connection was being opened */
export function requireWanted(isWanted: boolean): void {
  if (!isWanted) {
    throw new Error('The connection for replicas is not needed any more.')
  }
}

/** A connection that is still being opened: commands follow in their order. It fails with all of them. */
export class OpeningConnection implements AcknowledgedConnection {
  private opened: AcknowledgedConnection | null = null

  constructor(private readonly opening: Promise<AcknowledgedConnection>) {
    opening.then(
      (opened) => (this.opened = opened),
      () => undefined,
    )
  }

  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.use((opened) => opened.evalsha(sha1, keys, args))
  }

  eval(lua: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.use((opened) => opened.eval(lua, keys, args))
  }

  wait(replicas: number, timeoutMs: number): Promise<number> {
    return this.use((opened) => opened.wait(replicas, timeoutMs))
  }

  private use<T>(send: (opened: AcknowledgedConnection) => Promise<T>): Promise<T> {
    return this.opened ? send(this.opened) : this.opening.then(send)
  }
}
