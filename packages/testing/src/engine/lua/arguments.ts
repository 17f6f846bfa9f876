import { toNumber, toText } from './numbers.js'
import { LuaTable, raise, typeOf, type LuaValue } from './values.js'

// Arguments of Lua's own functions, with its errors.

/** Which argument of which function. */
export interface Argument {
  readonly of: string
  readonly place: number
}

export function at(of: string, place: number): Argument {
  return { of, place }
}

function bad({ of, place }: Argument, what: string): never {
  return raise(`bad argument #${place} to '${of}' (${what})`)
}

function expected(argument: Argument, type: string, value: LuaValue): never {
  const got = value === undefined ? 'no value' : typeOf(value)
  return bad(argument, `${type} expected, got ${got}`)
}

export function textAt(args: readonly LuaValue[], argument: Argument): string {
  const value = args[argument.place - 1]
  return toText(value) ?? expected(argument, 'string', value)
}

export function numberAt(args: readonly LuaValue[], argument: Argument): number {
  const value = args[argument.place - 1]
  return toNumber(value) ?? expected(argument, 'number', value)
}

/** As C's cast does, fractions are cut. */
export function wholeAt(args: readonly LuaValue[], argument: Argument, otherwise?: number): number {
  return args[argument.place - 1] === undefined && otherwise !== undefined
    ? otherwise
    : Math.trunc(numberAt(args, argument))
}

export function tableAt(args: readonly LuaValue[], argument: Argument): LuaTable {
  const value = args[argument.place - 1]
  return value instanceof LuaTable ? value : expected(argument, 'table', value)
}

export function anyAt(args: readonly LuaValue[], argument: Argument): LuaValue {
  return argument.place <= args.length ? args[argument.place - 1] : bad(argument, 'value expected')
}

export function refuse(argument: Argument, what: string): never {
  return bad(argument, what)
}
