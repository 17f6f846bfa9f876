import { at, refuse, textAt } from './arguments.js'
import { readJson } from './json-reader.js'
import { general } from './numbers.js'
import { JSON_NULL as NULL, LuaTable, raise, typeOf, type LuaValue } from './values.js'

// Redis's cjson. Texts are bytes on both sides: only an escape like \u00e9 stands for several of them.

const TO_ESCAPE = /["\\/\x00-\x1f\x7f]/g // eslint-disable-line no-control-regex -- what cjson escapes
const SHORT: Readonly<Record<string, string>> = {
  ...{ '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' },
  ...{ '"': '\\"', '\\': '\\\\', '/': '\\/' },
}
const DEEPEST = 1_000

function decode(...args: LuaValue[]): LuaValue {
  if (args.length !== 1) {
    refuse(at('decode', 1), 'expected 1 argument')
  }
  return readJson(textAt(args, at('decode', 1)))
}

function encode(...args: LuaValue[]): string {
  if (args.length !== 1) {
    refuse(at('encode', 1), 'expected 1 argument')
  }
  return written(args[0], 0)
}

function written(value: LuaValue, depth: number): string {
  if (value === NULL || value === undefined) {
    return 'null'
  }
  if (value instanceof LuaTable) {
    const inside = depth + 1
    return inside > DEEPEST ? raise(`Cannot serialise, excessive depth (${inside})`) : ofTable(value, inside)
  }
  if (typeof value === 'string') {
    return quoted(value)
  }
  if (typeof value === 'number') {
    return numberText(value)
  }
  return typeof value === 'boolean'
    ? String(value)
    : raise(`Cannot serialise ${typeOf(value)}: type not supported`)
}

function numberText(value: number): string {
  return Number.isFinite(value)
    ? general(value, 14)
    : raise('Cannot serialise number: must not be NaN or Inf')
}

/** How long a list is, nil for what is missing in it; null: this is none. */
function listLength(table: LuaTable): number | null {
  let [most, items] = [0, 0]
  for (const [key] of table.entries()) {
    if (typeof key !== 'number' || key < 1 || !Number.isInteger(key)) {
      return null
    }
    most = Math.max(most, key)
    items += 1
  }
  if (most > 2 * items && most > 10) {
    raise('Cannot serialise table: excessively sparse array')
  }
  return most
}

function ofTable(table: LuaTable, depth: number): string {
  const length = listLength(table) ?? 0
  if (length > 0) {
    const values = Array.from({ length }, (_, i) => written(table.get(i + 1), depth))
    return `[${values.join(',')}]`
  }
  const pairs = [...table.entries()].map(([key, value]) => {
    const name =
      typeof key === 'number' ? `"${numberText(key)}"` : typeof key === 'string' ? quoted(key) : null
    return name === null
      ? raise('Cannot serialise table: table key must be a number or string')
      : `${name}:${written(value, depth)}`
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
