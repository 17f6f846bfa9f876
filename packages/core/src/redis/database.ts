import { InvalidArgumentError } from '../errors.js'
import type { RedisPort } from './redis-port.js'

/** @param given of a target. @throws InvalidArgumentError it is no number of a database */
export function checkDatabase(given: unknown): void {
  const isNumber = Number.isSafeInteger(given) && Number(given) >= 0
  if (
    given === undefined ||
    given === null ||
    isNumber ||
    (typeof given === 'string' && DIGITS.test(given))
  ) {
    return
  }
  // A URL whose password contains a slash has the rest of it here.
  const shown = typeof given === 'string' && !SHOWABLE.test(given) ? 'text that is no number' : given
  throw new InvalidArgumentError('database', shown, 'a whole number, as in "redis://localhost:6379/3"')
}

const DIGITS = /^\d+$/
const SHOWABLE = /^[\w.+-]{1,12}$/

/** How Redis, Valkey and proxies say that a connection does not get its database. */
const REFUSED = /\bDB index\b|\bselect\b|\bout of range\b/i
const SURELY_REFUSED = /\bDB index\b|\bSELECT is not allowed\b/

/**
 * The database that Redis refuses, of a client that ends its connection then; undefined: none. Clients of several
 * connections do not tell their options before one of them is connected.
 * @param trouble the last error of the connection
 */
export function refusedIn(options: object | undefined, trouble: Error | undefined): RedisPort['refused'] {
  const { database } = (options ?? {}) as { readonly database?: number | string }
  const said = trouble?.message ?? ''
  if (database) {
    return REFUSED.test(said) ? database : undefined
  }
  return SURELY_REFUSED.test(said) ? 'that of its options' : undefined
}

/** The error of a target that names a database which Redis refuses. */
export function refusedDatabase({ refused, trouble }: RedisPort): InvalidArgumentError {
  const said = trouble ? ` (it answered: ${trouble.message})` : ''
  return new InvalidArgumentError('database', refused, `one that this Redis lets its user select${said}`)
}

/** A hint for errors of calls meanwhile. */
export function adviceOnDatabase(refused: RedisPort['refused']): string {
  return refused === undefined ? '' : ` Redis refuses its database (${refused}): give one that it has.`
}
