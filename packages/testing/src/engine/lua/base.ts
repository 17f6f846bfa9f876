import { anyAt, at, numberAt, refuse, intAt, tableAt, textAt } from './arguments.js'
import { protectedCall } from './operations.js'
import { textOf, toNumber, toText } from './numbers.js'
import { stringLibrary } from './strings.js'
import { tableLibrary } from './tables.js'
import {
  LuaError,
  LuaTable,
  NOTHING,
  position,
  raise,
  severalOf,
  typeOf,
  type LuaValue,
  type Results,
} from './values.js'

/** The result of `tostring`. */
export function described(value: LuaValue): string {
  if (typeof value === 'object' || typeof value === 'function') {
    // Real addresses differ from run to run; nothing can be built on them.
    return `${typeOf(value)}: 0x0`
  }
  return typeof value === 'number' ? textOf(value) : value === undefined ? 'nil' : String(value)
}

function tonumber(...args: LuaValue[]): LuaValue {
  const base = intAt(args, at('tonumber', 2), 10)
  if (base === 10) {
    return toNumber(anyAt(args, at('tonumber', 1)))
  }
  const text = textAt(args, at('tonumber', 1)).split('\0', 1)[0] ?? ''
  if (base < 2 || base > 36) {
    refuse(at('tonumber', 2), 'base out of range')
  }
  return unsigned(text, base)
}

const MOST_UNSIGNED = 2n ** 64n - 1n

/** C's strtoul: of a text with a minus it is what is missing to 2^64. Undefined: it is no number. */
function unsigned(text: string, base: number): number | undefined {
  const [, sign, letters = ''] = /^[ \t\r\n\f\v]*([+-]?)([0-9a-z]+)[ \t\r\n\f\v]*$/i.exec(text) ?? []
  const digits = base === 16 ? letters.replace(/^0x(?=[\da-f])/i, '') : letters
  const values = Array.from(digits, (digit) => parseInt(digit, 36))
  if (values.length === 0 || values.some((value) => value >= base)) {
    return undefined
  }
  const size = values.reduce((number, value) => number * BigInt(base) + BigInt(value), 0n)
  if (size > MOST_UNSIGNED) {
    return Number(MOST_UNSIGNED)
  }
  return Number(sign === '-' && size > 0n ? MOST_UNSIGNED + 1n - size : size)
}

function error(...args: LuaValue[]): never {
  const [value] = args
  // Only from level 1 on does Lua put the place in front of a text.
  const text = toText(value)
  return text !== undefined && intAt(args, at('error', 2), 1) > 0 ? raise(text) : failWith(value)
}

function failWith(value: LuaValue): never {
  throw new LuaError(value, position.line)
}

function assert(...args: LuaValue[]): Results {
  const value = anyAt(args, at('assert', 1))
  if (value !== undefined && value !== false) {
    return severalOf(args)
  }
  return failWith(args.length > 1 ? args[1] : 'assertion failed!')
}

function select(...args: LuaValue[]): Results {
  const [which, ...others] = args
  if (which === '#') {
    return others.length
  }
  const place = intAt(args, at('select', 1))
  if (place === 0 || place < -others.length) {
    raise(`bad argument #1 to 'select' (index out of range)`)
  }
  return severalOf(others.slice(place < 0 ? place : place - 1))
}

/** The size of Lua's stack. */
const MOST_RESULTS = 8_000

function unpack(...args: LuaValue[]): Results {
  const table = tableAt(args, at('unpack', 1))
  const to = intAt(args, at('unpack', 3), table.length)
  const from = intAt(args, at('unpack', 2), 1)
  if (to - from >= MOST_RESULTS) {
    raise('too many results to unpack')
  }
  const values: LuaValue[] = []
  for (let i = from; i <= to; i += 1) {
    values.push(table.get(i))
  }
  return severalOf(values)
}

function ipairs(...args: LuaValue[]): Results {
  const table = tableAt(args, at('ipairs', 1))
  let place = 0
  const next = (): Results => {
    place += 1
    const value = table.get(place)
    return value === undefined ? NOTHING : severalOf([place, value])
  }
  return severalOf([next, table, 0])
}

function pairs(...args: LuaValue[]): Results {
  const table = tableAt(args, at('pairs', 1))
  const entries = table.entries()
  const next = (): Results => {
    const entry = entries.next()
    return entry.done ? undefined : severalOf(entry.value)
  }
  return severalOf([next, table, undefined])
}

function next(...args: LuaValue[]): Results {
  const [, behind] = args
  let isBehind = behind === undefined
  for (const entry of tableAt(args, at('next', 1)).entries()) {
    if (isBehind) {
      return severalOf(entry)
    }
    isBehind = entry[0] === behind
  }
  return undefined
}

function mathOf(name: string, of: (...values: number[]) => number, count = 1): Record<string, LuaValue> {
  return {
    [name]: (...args: LuaValue[]) => {
      const wanted = count === Infinity ? Math.max(1, args.length) : count
      return of(...Array.from({ length: wanted }, (_, i) => numberAt(args, at(name, i + 1))))
    },
  }
}

// Not JavaScript's: to Lua NaN is neither more nor less, and stays only where it comes first.
const mathLibrary = LuaTable.from({
  huge: Infinity,
  pi: Math.PI,
  ...mathOf('abs', Math.abs),
  ...mathOf('ceil', Math.ceil),
  ...mathOf('exp', Math.exp),
  ...mathOf('floor', Math.floor),
  ...mathOf('fmod', (left, right) => left % right, 2),
  ...mathOf('log', Math.log),
  ...mathOf('log10', Math.log10),
  ...mathOf('max', (...values) => values.reduce((most, value) => (value > most ? value : most)), Infinity),
  ...mathOf('min', (...values) => values.reduce((least, value) => (value < least ? value : least)), Infinity),
  ...mathOf('pow', Math.pow, 2),
  ...mathOf('sqrt', Math.sqrt),
})

/** The global names of Lua 5.1 that Redis leaves to scripts, without those that read files, clocks or chance. */
export const baseLibrary: Readonly<Record<string, LuaValue>> = {
  string: stringLibrary,
  table: tableLibrary,
  math: mathLibrary,
  assert,
  error,
  ipairs,
  next,
  pairs,
  pcall: (...args) => {
    anyAt(args, at('pcall', 1))
    return severalOf(protectedCall(args[0], args.slice(1)))
  },
  rawequal: (...args) => args[0] === args[1],
  rawget: (...args) => tableAt(args, at('rawget', 1)).get(args[1]),
  select,
  tonumber,
  tostring: (...args) => described(anyAt(args, at('tostring', 1))),
  type: (...args) => typeOf(anyAt(args, at('type', 1))),
  unpack,
}
for (const library of [stringLibrary, tableLibrary, mathLibrary]) {
  library.locked = 'Attempt to modify a readonly table'
}
