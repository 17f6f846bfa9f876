import { InvalidArgumentError } from '../errors.js'
import { checkInteger, checkObject } from '../validate.js'

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
export function optionsOf<O extends { permits?: number | undefined }>(request: number | O): O {
  if (typeof request === 'number') {
    return { permits: request } as O
  }
  checkObject('options', request)
  return request
}

/** Of permits. @throws InvalidArgumentError */
export function checkIds(ids: unknown): void {
  const isId = (each: unknown): boolean => typeof each === 'string' && /^[\da-f]{32}$/.test(each)
  if (!Array.isArray(ids) || !ids.every(isId) || new Set(ids).size !== ids.length) {
    throw new InvalidArgumentError('id', ids, 'an id of 32 hex characters, or a list of different ones')
  }
}
