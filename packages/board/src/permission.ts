import type { BoardRequest } from './http/exchange.js'
import type { BoardAction, Settings } from './options.js'

export interface Permission {
  readonly isAllowed: boolean
  readonly user: string | undefined
}

/** Without `authorize`, everybody who reaches the board may look. A function that throws refuses. */
export async function permissionOf(
  { authorize }: Pick<Settings, 'authorize'>,
  { original }: BoardRequest,
  action: BoardAction,
): Promise<Permission> {
  if (!authorize) {
    return { isAllowed: action.type === 'view', user: undefined }
  }
  try {
    const given: unknown = await authorize(original, action)
    const user = (given as { user?: unknown } | null | undefined)?.user
    // Only what was promised counts: a truthy mistake, as a row of a database, allows nothing.
    return typeof user === 'string'
      ? { isAllowed: true, user }
      : { isAllowed: given === true, user: undefined }
  } catch {
    return { isAllowed: false, user: undefined }
  }
}
