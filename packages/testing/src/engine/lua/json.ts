import { at, textAt } from './arguments.js'
import { fixed, general } from './numbers.js'
import { JSON_NULL as NULL, LuaTable, raise, typeOf, type LuaValue } from './values.js'

// Redis's cjson. Texts are bytes on both sides: only an escape like \u00e9 stands for several of them.

const ESCAPE = /\\(u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|.)/gs
const TO_ESCAPE = /["\\/\x00-\x1f\x7f]/g // eslint-disable-line no-control-regex -- what cjson escapes
const SHORT: Readonly<Record<string, string>> = {
  ...{ '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' },
  ...{ '"': '\\"', '\\': '\\\\', '/': '\\/' },
}
const DEEPEST = 1_000

function decode(...args: LuaValue[]): LuaValue {
  const text = textAt(args, at('decode', 1))
  let parsed: unknown
  try {
    parsed = JSON.parse(text.replace(ESCAPE, asBytes))
  } catch {
    // Of cjson the place and the kind of what is wrong; here only that something is.
    raise(`Expected value but found invalid token at character 1`)
  }
  return toLua(parsed)
}

function asBytes(escape: string, code: string): string {
  if (code.length < 5) {
    return escape
  }
  const sign = JSON.parse(`"${escape}"`) as string
  return sign.charCodeAt(0) < 0x80 ? escape : Buffer.from(sign, 'utf8').toString('latin1')
}

function toLua(value: unknown): LuaValue {
  if (Array.isArray(value)) {
    const table = new LuaTable()
    value.forEach((each, i) => table.set(i + 1, toLua(each)))
    return table
  }
  if (typeof value === 'object' && value !== null) {
    const table = new LuaTable()
    for (const [key, each] of Object.entries(value)) {
      table.set(key, toLua(each))
    }
    return table
  }
  return value === null ? NULL : (value as string | number | boolean)
}

function encode(...args: LuaValue[]): string {
  return written(args[0], 1)
}

function written(value: LuaValue, depth: number): string {
  if (value === NULL || value === undefined) {
    return 'null'
  }
  if (value instanceof LuaTable) {
    return depth > DEEPEST ? raise(`Cannot serialise, excessive depth (${depth})`) : ofTable(value, depth)
  }
  if (typeof value === 'string') {
    return quoted(value)
  }
  if (typeof value === 'number') {
    return Number.isFinite(value)
      ? general(value, 14)
      : raise('Cannot serialise number: must not be NaN or Inf')
  }
  return typeof value === 'boolean'
    ? String(value)
    : raise(`Cannot serialise ${typeOf(value)}: type not supported`)
}

function ofTable(table: LuaTable, depth: number): string {
  if (table.length > 0 && table.size === table.length) {
    return `[${table.list.map((each) => written(each, depth + 1)).join(',')}]`
  }
  const pairs = [...table.entries()].map(([key, value]) => {
    const name = typeof key === 'number' ? fixed(key, 0) : key
    return typeof name === 'string'
      ? `${quoted(name)}:${written(value, depth + 1)}`
      : raise('Cannot serialise table: table key must be a number or string')
  })
  return `{${pairs.join(',')}}`
}

function quoted(text: string): string {
  const escaped = text.replace(
    TO_ESCAPE,
    (sign) => SHORT[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `"${escaped}"`
}

export const jsonLibrary = LuaTable.from({ decode, encode, null: NULL })
jsonLibrary.locked = 'Attempt to modify a readonly table'
