import { parseArgs } from 'node:util'

/** What the command line asks for is not possible. */
export class UsageError extends Error {}

/**
 * `parseArgs` of node:util, whose complaint becomes a UsageError.
 *
 * @param {string[]} args
 * @param {import('node:util').ParseArgsConfig['options']} options
 */
export const parseOptions = (args, options) => {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError(error.message)
  }
}

/** @param {string} name @param {string} given @param {number} most @throws {UsageError} */
export const wholeNumber = (name, given, most) => {
  if (!/^[1-9]\d*$/.test(given) || Number(given) > most) {
    throw new UsageError(`--${name} takes a whole number from 1 to ${most}, not '${given}'`)
  }
  return Number(given)
}
