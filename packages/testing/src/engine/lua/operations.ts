import { textOf, toNumber } from './numbers.js'
import { stringLibrary } from './strings.js'
import {
  JSON_NULL,
  listOf,
  LuaError,
  LuaTable,
  position,
  raise,
  typeOf,
  type LuaFunction,
  type LuaValue,
  type Results,
} from './values.js'

/** Facts of an operation for its error: the line, and what its operands are called. */
export interface Place {
  readonly line: number
  /** Kind and name, as in `local 'x'`; empty: it has no name. */
  readonly left: string
  readonly right: string
}

function fail(what: string, value: LuaValue, name: string, line: number): never {
  const type = typeOf(value)
  return raise(
    name === '' ? `attempt to ${what} a ${type} value` : `attempt to ${what} ${name} (a ${type} value)`,
    line,
  )
}

export function index(object: LuaValue, key: LuaValue, place: Place): LuaValue {
  if (object instanceof LuaTable && object !== JSON_NULL) {
    const value = object.get(key)
    if (value === undefined && object.missing) {
      raise(object.missing(key), place.line)
    }
    return value
  }
  return typeof object === 'string' ? stringLibrary.get(key) : fail('index', object, place.left, place.line)
}

export function setIndex(object: LuaValue, key: LuaValue, value: LuaValue, place: Place): void {
  if (!(object instanceof LuaTable) || object === JSON_NULL) {
    fail('index', object, place.left, place.line)
  }
  if (object.locked !== null) {
    raise(object.locked, place.line)
  }
  if (key === undefined || Number.isNaN(key)) {
    raise(`table index is ${key === undefined ? 'nil' : 'NaN'}`, place.line)
  }
  object.set(key, value)
}

function callable(value: LuaValue, place: Place): LuaFunction {
  position.line = place.line
  return typeof value === 'function' ? value : fail('call', value, place.left, place.line)
}

// One for each number of arguments: an array for them would be made at every call.
export function call0(callee: LuaValue, place: Place): Results {
  return callable(callee, place)()
}

export function call1(callee: LuaValue, place: Place, one: LuaValue): Results {
  return callable(callee, place)(one)
}

export function call(callee: LuaValue, place: Place, ...args: LuaValue[]): Results {
  return callable(callee, place)(...args)
}

/** The last argument is all that a call or `...` gave. */
export function callWith(callee: LuaValue, place: Place, args: readonly LuaValue[], last: Results): Results {
  return callable(callee, place)(...args, ...listOf(last))
}

export function method(object: LuaValue, name: string, place: Place, args: readonly LuaValue[]): Results {
  const callee = index(object, name, { ...place, left: place.right })
  return callable(callee, place)(object, ...args)
}

function arithmetic(left: LuaValue, right: LuaValue, place: Place): readonly [number, number] {
  const one = toNumber(left)
  if (one === undefined) {
    fail('perform arithmetic on', left, place.left, place.line)
  }
  const other = toNumber(right)
  if (other === undefined) {
    fail('perform arithmetic on', right, place.right, place.line)
  }
  return [one, other]
}

export function add(left: LuaValue, right: LuaValue, place: Place): number {
  if (typeof left === 'number' && typeof right === 'number') {
    return left + right
  }
  const [one, other] = arithmetic(left, right, place)
  return one + other
}

export function subtract(left: LuaValue, right: LuaValue, place: Place): number {
  if (typeof left === 'number' && typeof right === 'number') {
    return left - right
  }
  const [one, other] = arithmetic(left, right, place)
  return one - other
}

export function multiply(left: LuaValue, right: LuaValue, place: Place): number {
  const [one, other] = arithmetic(left, right, place)
  return one * other
}

export function divide(left: LuaValue, right: LuaValue, place: Place): number {
  const [one, other] = arithmetic(left, right, place)
  return one / other
}

export function modulo(left: LuaValue, right: LuaValue, place: Place): number {
  const [one, other] = arithmetic(left, right, place)
  return one - Math.floor(one / other) * other
}

export function power(left: LuaValue, right: LuaValue, place: Place): number {
  const [one, other] = arithmetic(left, right, place)
  return one ** other
}

export function negate(value: LuaValue, place: Place): number {
  const [one] = arithmetic(value, 0, place)
  return -one
}

export function concat(left: LuaValue, right: LuaValue, place: Place): string {
  const one = typeof left === 'string' ? left : asPart(left, place.left, place.line)
  const other = typeof right === 'string' ? right : asPart(right, place.right, place.line)
  return one + other
}

function asPart(value: LuaValue, name: string, line: number): string {
  return typeof value === 'number'
    ? textOf(value)
    : typeof value === 'string'
      ? value
      : fail('concatenate', value, name, line)
}

export function length(value: LuaValue, place: Place): number {
  return typeof value === 'string'
    ? value.length
    : value instanceof LuaTable && value !== JSON_NULL
      ? value.length
      : fail('get length of', value, place.left, place.line)
}

function incomparable(left: LuaValue, right: LuaValue, place: Place): never {
  const [one, other] = [typeOf(left), typeOf(right)]
  return raise(
    one === other ? `attempt to compare two ${one} values` : `attempt to compare ${one} with ${other}`,
    place.line,
  )
}

/** Texts by their bytes. */
export function isLess(left: LuaValue, right: LuaValue, place: Place): boolean {
  if (typeof left === 'number' && typeof right === 'number') {
    return left < right
  }
  return typeof left === 'string' && typeof right === 'string'
    ? left < right
    : incomparable(left, right, place)
}

export function isAtMost(left: LuaValue, right: LuaValue, place: Place): boolean {
  if (typeof left === 'number' && typeof right === 'number') {
    return left <= right
  }
  return typeof left === 'string' && typeof right === 'string'
    ? left <= right
    : incomparable(left, right, place)
}

export function isMore(left: LuaValue, right: LuaValue, place: Place): boolean {
  return isLess(right, left, place)
}

export function isAtLeast(left: LuaValue, right: LuaValue, place: Place): boolean {
  return isAtMost(right, left, place)
}

export function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false
}

/** A table in braces: a list, and pairs of key and value. */
export function tableOf(
  list: readonly LuaValue[],
  ...pairs: readonly (readonly [LuaValue, LuaValue])[]
): LuaTable {
  const table = LuaTable.of(list)
  for (const [key, value] of pairs) {
    if (key === undefined) {
      raise('table index is nil')
    }
    table.set(key, value)
  }
  return table
}

/** A limit or step of a `for`. */
export function loopNumber(value: LuaValue, what: string, line: number): number {
  return toNumber(value) ?? raise(`'for' ${what} must be a number`, line)
}

/** Redis's `pcall` gives the text of an error that has one, as those of its commands do. */
function textOfError(value: LuaValue): LuaValue {
  const text = value instanceof LuaTable ? value.get('err') : undefined
  return typeof text === 'string' ? text : value
}

/** Calls, and returns false and the error when the script's code fails; failures of the engine itself pass. */
export function protectedCall(callee: LuaValue, args: readonly LuaValue[]): readonly LuaValue[] {
  try {
    // A failure in a function of Lua itself has no line and no name.
    return [true, ...listOf(callable(callee, { line: 0, left: '', right: '' })(...args))]
  } catch (error) {
    if (error instanceof LuaError) {
      return [false, textOfError(error.value)]
    }
    if (error instanceof RangeError) {
      return [false, 'stack overflow']
    }
    throw error
  }
}
