import { InvalidArgumentError } from '../errors.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkInteger, checkOptions } from '../arguments/validate.js'
import { WAIT_OPTIONS, type WaitOptions } from './wait-limits.js'

export interface PermitOptions extends WaitOptions {
  /** How many, all or none. Default 1. */
  permits?: number | undefined
}

const PERMIT_OPTIONS: KnownKeys<PermitOptions> = { ...WAIT_OPTIONS, permits: true }

// Redisson counts permits in an int of Java.
const MOST = 2_147_483_647

/** @throws InvalidArgumentError */
export function checkCount(argument: string, value: unknown, min: number): void {
  checkInteger(argument, value, min)
  if ((value as number) > MOST) {
    throw new InvalidArgumentError(argument, value, `an integer of at most ${MOST}`)
  }
}

/** Redisson's number of permits, or options. @throws InvalidArgumentError */
export function optionsOf(request: number | PermitOptions): PermitOptions {
  if (typeof request === 'number') {
    return { permits: request }
  }
  checkOptions('options', request, PERMIT_OPTIONS)
  return request
}

/** Of one permit. @throws InvalidArgumentError */
export function checkId(id: unknown): void {
  if (!isId(id)) {
    throw new InvalidArgumentError('id', id, 'an id of 32 hex characters')
  }
}

/** Of permits. @throws InvalidArgumentError */
export function idsOf(given: string | readonly string[]): readonly string[] {
  const ids: unknown = typeof given === 'string' ? [given] : given
  if (!Array.isArray(ids) || !ids.every(isId) || new Set(ids).size !== ids.length) {
    throw new InvalidArgumentError('id', given, 'an id of 32 hex characters, or a list of different ones')
  }
  return ids
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[\da-f]{32}$/.test(value)
}
