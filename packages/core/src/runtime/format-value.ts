import { inspect } from 'node:util'
import { isPlainObject } from './plain-object.js'

const LONGEST = 60
const MOST_KEYS = 8
const MOST_ELEMENTS = 3

/**
 * Formats a value for a message, in one short line. Messages are logged: of an object only the keys, of a URL
 * everything but the password.
 */
export function formatValue(value: unknown): string {
  if (Array.isArray(value)) {
    return cut(`[${listed(value.slice(0, MOST_ELEMENTS).map(shallow), value.length)}]`)
  }
  if (!isPlainObject(value)) {
    return shallow(value)
  }
  const keys = Object.keys(value)
  return keys.length === 0 ? '{}' : cut(`{ ${listed(keys.slice(0, MOST_KEYS), keys.length)} }`)
}

/** Escapes what would end a line of a log, or command a terminal: names, owners and errors may contain anything. */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex -- those are what it is about
  return text.replace(/[\0-\x1f\x7f-\x9f\u2028\u2029]/g, (character) => {
    const code = character.charCodeAt(0)
    return character === '\n' ? '\\n' : `\\u${code.toString(16).padStart(4, '0')}`
  })
}

const LONGEST_FOREIGN = 200

/** Shortens text of foreign origin, from Redis or an error, for errors and events, which are logged. */
export function foreign(text: string): string {
  return text.length > LONGEST_FOREIGN ? `${text.slice(0, LONGEST_FOREIGN - 1)}…` : text
}

function shallow(value: unknown): string {
  if (typeof value !== 'string') {
    const [firstLine = ''] = inspect(value, { depth: -1, customInspect: false }).split('\n')
    return cut(firstLine)
  }
  return value.length > LONGEST
    ? `a string of ${value.length} characters`
    : JSON.stringify(value.replace(/\/\/.*@/s, '//…@'))
}

function listed(shown: readonly string[], length: number): string {
  return [...shown, ...(length > shown.length ? ['…'] : [])].join(', ')
}

function cut(text: string): string {
  return text.length > 2 * LONGEST ? `${text.slice(0, 2 * LONGEST)}…` : text
}
