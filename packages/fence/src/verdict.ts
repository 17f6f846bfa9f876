import { InvalidArgumentError } from '@holdfast/core'
import type { Claim } from './claim.js'
import { FenceUndecidedError, isUndecided, StaleHolderError } from './errors.js'
import type { FenceStatements } from './statements.js'

/** Sends one statement in the transaction. @returns its rows */
export type Send = (statement: string, parameters: readonly string[]) => PromiseLike<unknown>
export type SendNow = (statement: string, parameters: readonly string[]) => unknown

/** The microseconds since 1970 that `tokens: 'time'` begins at are beyond this; no counter comes near. */
const FIRST_OF_TIME = 10n ** 15n
let hasWarned = false

/** Once: what it means to guard with tokens that begin anew with Redis's data. */
function warnOfCounter(token: string): void {
  if (hasWarned || BigInt(token) >= FIRST_OF_TIME) {
    return
  }
  hasWarned = true
  process.emitWarning(
    "A fence got a token of tokens: 'counter'. If Redis loses that counter, every new holder is refused until it is set " +
      "above the tokens of the table. Use tokens: 'time', or keep Redis's data and see docs/fencing.md.",
    { code: 'HOLDFAST_FENCE_COUNTER' },
  )
}

/** @throws StaleHolderError the stored token is not the one offered: it is greater */
function judge(claim: Claim, rows: unknown): void {
  const [row] = rows as readonly ({ readonly token?: unknown } | undefined)[]
  const stored = row?.token
  if (typeof stored !== 'string' || !/^\d+$/.test(stored)) {
    throw new InvalidArgumentError(
      'tx',
      rows,
      'one that answers with a row that has the stored token as text',
    )
  }
  if (stored !== BigInt(claim.token).toString()) {
    throw new StaleHolderError(claim, stored)
  }
  warnOfCounter(claim.token)
}

function decided(claim: Claim, error: unknown): unknown {
  return isUndecided(error) ? new FenceUndecidedError(claim.name, error) : error
}

/**
 * Raises the token in the transaction, and waits for the verdict: as long as another transaction has the row.
 * @throws StaleHolderError, FenceUndecidedError; the library's own error for anything else
 */
export async function fenceWith(claim: Claim, statements: FenceStatements, send: Send): Promise<void> {
  const { name, token } = claim
  let rows: unknown
  try {
    rows = await send(statements.raise, [name, token])
    if (statements.read !== undefined) {
      rows = await send(statements.read, [name])
    }
  } catch (error) {
    throw decided(claim, error)
  }
  judge(claim, rows)
}

/** The same, for a library that answers at once. */
export function fenceNow(claim: Claim, statements: FenceStatements, send: SendNow): void {
  let rows: unknown
  try {
    rows = send(statements.raise, [claim.name, claim.token])
  } catch (error) {
    throw decided(claim, error)
  }
  judge(claim, rows)
}

/** @throws InvalidArgumentError `isOpen` is false: outside a transaction a fence ends with its own statement */
export function requireTransaction(tx: unknown, isOpen: boolean, how: string): void {
  if (!isOpen) {
    throw new InvalidArgumentError('tx', tx, `an open transaction: ${how}`)
  }
}

/** @throws InvalidArgumentError in a nested transaction the fence would be undone with its savepoint */
export function requireOutermost(tx: unknown, isOutermost: boolean): void {
  if (!isOutermost) {
    throw new InvalidArgumentError(
      'tx',
      tx,
      'the outermost transaction: a savepoint that is undone takes the fence with it',
    )
  }
}

/** The rows of an answer of a library over several drivers, each of which answers in its own form. */
export function rowsOf(answer: unknown): unknown {
  if (Array.isArray(answer)) {
    return Array.isArray(answer[0]) ? (answer[0] as unknown) : (answer as unknown)
  }
  return (answer as { readonly rows?: unknown }).rows
}
