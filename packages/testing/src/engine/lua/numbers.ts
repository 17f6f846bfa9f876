import type { LuaValue } from './values.js'

const DECIMAL = /^[ \t\r\n\f\v]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[ \t\r\n\f\v]*$/
const OTHER =
  /^[ \t\r\n\f\v]*([+-]?)(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?|inf(?:inity)?|nan)[ \t\r\n\f\v]*$/i

/** A hexadecimal number as C reads `0x1f.8p2`: a fraction too, and a power of 2 behind it. */
function hexadecimal(text: string): number {
  const [digits = '', power = '0'] = text.slice(2).toLowerCase().split('p')
  const [whole = '', fraction = ''] = digits.split('.')
  return Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(power) - 4 * fraction.length)
}

/** The number that a text is to Lua (strtod's and hexadecimal); undefined: it is none. */
export function parseNumber(text: string): number | undefined {
  const decimal = DECIMAL.exec(text)?.[1]
  if (decimal !== undefined) {
    return Number(decimal)
  }
  const [, sign, word] = OTHER.exec(text) ?? []
  if (word === undefined) {
    return undefined
  }
  const size = /^0x/i.test(word) ? hexadecimal(word) : /^i/i.test(word) ? Infinity : NaN
  return sign === '-' ? -size : size
}

const NUMBER_AT =
  /[ \t\r\n\f\v]*([+-]?)(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?|inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/iy

/** The number that begins at this place of a text, and where it ends, as C's strtod reads it; null: none does. */
export function parseNumberAt(
  text: string,
  at: number,
): { readonly value: number; readonly end: number } | null {
  NUMBER_AT.lastIndex = at
  const [whole] = NUMBER_AT.exec(text) ?? []
  const value = whole === undefined ? undefined : parseNumber(whole)
  return whole === undefined || value === undefined ? null : { value, end: at + whole.length }
}

/** A number, or a text that is one; undefined: neither. */
export function toNumber(value: LuaValue): number | undefined {
  // To C a text ends at its NUL.
  return typeof value === 'number'
    ? value
    : typeof value === 'string'
      ? parseNumber(value.split('\0', 1)[0] ?? '')
      : undefined
}

/** A text as Lua concatenates it; undefined: a value that is neither text nor number. */
export function toText(value: LuaValue): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' ? textOf(value) : undefined
}

/** `%.14g`, as Lua 5.1 writes every number. */
export function textOf(value: number): string {
  // The shortest way for nearly all: whole, and of at most 14 digits.
  if (Number.isInteger(value) && Math.abs(value) < 1e14) {
    return Object.is(value, -0) ? '-0' : String(value)
  }
  return general(value, 14)
}

/** C's `%.<precision>f`. */
export function fixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) {
    return notFinite(value)
  }
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const size = Math.abs(value)
  if (size >= 1e21) {
    return `${sign}${BigInt(size)}${precision > 0 ? `.${'0'.repeat(precision)}` : ''}`
  }
  return sign + toEven(precision, (places) => size.toFixed(places))
}

/** C's `%.<precision>e`. */
export function exponential(value: number, precision: number): string {
  if (!Number.isFinite(value)) {
    return notFinite(value)
  }
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const size = Math.abs(value)
  const text = toEven(precision, (places) => size.toExponential(places))
  return sign + text.replace(/e([+-])(\d)$/, 'e$10$2')
}

/** More places than this no number has behind a half: then it is exactly one. */
const FURTHER = 25

/** JavaScript takes the larger of two that are equally near, C the even one. */
function toEven(precision: number, write: (places: number) => string): string {
  const text = write(precision)
  const further = write(precision + FURTHER)
  const end = further.includes('e') ? further.indexOf('e') : further.length
  const rest = further.slice(end - FURTHER, end)
  const digits = further.slice(0, end - FURTHER).replace(/\.$/, '')
  return /^50*$/.test(rest) && /[02468]$/.test(digits) ? digits + further.slice(end) : text
}

/** C's `%.<precision>g`. */
export function general(value: number, precision: number): string {
  if (!Number.isFinite(value)) {
    return notFinite(value)
  }
  const digits = Math.max(1, precision)
  const text = value.toExponential(digits - 1)
  const exponent = Number(text.slice(text.indexOf('e') + 1))
  if (exponent < -4 || exponent >= digits) {
    const [mantissa = '', power = ''] = exponential(value, digits - 1).split('e')
    return `${withoutZeros(mantissa)}e${power}`
  }
  return withoutZeros(fixed(value, digits - 1 - exponent))
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

function notFinite(value: number): string {
  // C also writes the sign of NaN, which JavaScript does not tell: what is computed from 0/0 has one on x86.
  return Number.isNaN(value) ? '-nan' : value > 0 ? 'inf' : '-inf'
}
