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
