/**
 * What a release does in its own way. The engine imitates Redis 7.0.
 *
 * @typedef {object} Release
 * @property {(one: string, other: string) => boolean} areSameErrors
 * @property {(one: string, other: string) => boolean} areSameTexts of two that are not equal
 * @property {boolean} hasClockInScripts whether time goes on while a script runs
 */

const firstWord = (text) => text.split(' ')[0]
const ERROR = /^(ERR|OOM|READONLY|WRONGTYPE|NOPERM|NOSCRIPT) /
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/

/** @type {Release} */
const IMITATED = {
  areSameErrors: (one, other) => one === other,
  areSameTexts: () => false,
  hasClockInScripts: true,
}

/** @type {Release} */
const LATER = {
  // Clients go by the first word.
  areSameErrors: (one, other) => firstWord(one) === firstWord(other),
  // Scores have as many digits as they need since 7.2, and 17 before. And scripts have errors as texts.
  areSameTexts: (one, other) =>
    (NUMBER.test(one) && NUMBER.test(other) && Number(one) === Number(other)) ||
    (ERROR.test(one) && firstWord(one) === firstWord(other)),
  hasClockInScripts: false,
}

/** @param {string} server @returns {Release} */
export const releaseOf = (server) => (server === 'redis-7.0' ? IMITATED : LATER)
