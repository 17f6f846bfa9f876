import { parseArgs } from 'node:util'

/** The command line asks for something impossible. */
export class UsageError extends Error {}

/** @param {import('node:util').ParseArgsConfig} config */
const parse = (config) => {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError(error.message)
  }
}

/**
 * `parseArgs` of node:util, whose complaint becomes a UsageError.
 *
 * @param {string[]} args
 * @param {import('node:util').ParseArgsConfig['options']} options
 */
export const parseOptions = (args, options) => parse({ args, options }).values

/** The same where texts may stand beside the options. */
export const parseOptionsAndTexts = (args, options) => {
  const { values, positionals } = parse({ args, options, allowPositionals: true })
  return { values, texts: positionals }
}

/** @param {string} name @param {string} given @param {number} most @param {number} [least] @throws {UsageError} */
export const wholeNumber = (name, given, most, least = 1) => {
  if (!/^[1-9]\d*$/.test(given) || Number(given) > most || Number(given) < least) {
    throw new UsageError(`--${name} takes a whole number from ${least} to ${most}, not '${given}'`)
  }
  return Number(given)
}

/** @param {string} name @param {string[]} given @param {string[]} known @throws {UsageError} one of `given` is none of them */
export const requireKnown = (name, given, known) => {
  const unknown = given.find((each) => !known.includes(each))
  if (unknown !== undefined)
    throw new UsageError(`--${name} takes one of ${known.join(', ')}, not '${unknown}'`)
}
