import { InvalidArgumentError } from '../errors.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkInteger, checkOptions } from '../arguments/validate.js'
import { PERMIT_WAIT_OPTIONS, type PermitOptions } from './wait-limits.js'

const PERMIT_OPTIONS: KnownKeys<PermitOptions> = { ...PERMIT_WAIT_OPTIONS, permits: true }

// Redisson counts permits in a Java int.
const MOST = 2_147_483_647

/** @throws InvalidArgumentError */
export function checkCount(argument: string, value: unknown, min: number): void {
  checkInteger(argument, value, min)
  if ((value as number) > MOST) {
    throw new InvalidArgumentError(argument, value, `an integer of at most ${MOST}`)
  }
}

/** Redisson-style number of permits, or options. @throws InvalidArgumentError */
export function optionsOf(request: number | PermitOptions): PermitOptions {
  if (typeof request === 'number') {
    return { permits: request }
  }
  checkOptions('options', request, PERMIT_OPTIONS)
  return request
}

/** Checks the id of one permit. @throws InvalidArgumentError */
export function checkId(id: unknown): void {
  if (!isId(id)) {
    throw new InvalidArgumentError('id', id, ID_RULE)
  }
}

/** The ids of permits, given alone or as a list. @throws InvalidArgumentError */
export function idsOf(given: string | readonly string[]): readonly string[] {
  const ids: unknown = typeof given === 'string' ? [given] : given
  if (!Array.isArray(ids) || !ids.every(isId)) {
    throw new InvalidArgumentError('id', given, `${ID_RULE}, or a list of such`)
  }
  if (new Set(ids.map((id) => id.toLowerCase())).size !== ids.length) {
    throw new InvalidArgumentError('id', given, 'a list without an id that is in it twice')
  }
  return ids
}

const ID_RULE = 'an id that acquire() gave, in hex'

/**
 * What Redisson can decode, of any length: an id of a permit that does not exist is a valid argument, of a permit
 * that is not held.
 */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^([\da-f]{2})*$/i.test(value)
}
