import { toNumber, toText } from './numbers.js'
import { JSON_NULL, LuaTable, position, raise, typeOf, type LuaValue } from './values.js'

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
  return raise(`bad argument #${place} to '${position.line === 0 ? '?' : of}' (${what})`)
}

function expected(argument: Argument, type: string, args: readonly LuaValue[]): never {
  const got = argument.place > args.length ? 'no value' : typeOf(args[argument.place - 1])
  return bad(argument, `${type} expected, got ${got}`)
}

export function textAt(args: readonly LuaValue[], argument: Argument): string {
  const value = args[argument.place - 1]
  return toText(value) ?? expected(argument, 'string', args)
}

export function numberAt(args: readonly LuaValue[], argument: Argument): number {
  const value = args[argument.place - 1]
  return toNumber(value) ?? expected(argument, 'number', args)
}

/** Fractions are cut, by C's cast. */
export function wholeAt(args: readonly LuaValue[], argument: Argument, otherwise?: number): number {
  return args[argument.place - 1] === undefined && otherwise !== undefined
    ? otherwise
    : Math.trunc(numberAt(args, argument))
}

/** The same as C's int: what does not fit loses its upper bits. */
export function intAt(args: readonly LuaValue[], argument: Argument, otherwise?: number): number {
  const value = wholeAt(args, argument, otherwise)
  if (value === (value | 0)) {
    return value
  }
  return Math.abs(value) < 2 ** 63 ? Number(BigInt.asIntN(32, BigInt(value))) : 0
}

export function tableAt(args: readonly LuaValue[], argument: Argument): LuaTable {
  const value = args[argument.place - 1]
  return value instanceof LuaTable && value !== JSON_NULL ? value : expected(argument, 'table', args)
}

export function anyAt(args: readonly LuaValue[], argument: Argument): LuaValue {
  return argument.place <= args.length ? args[argument.place - 1] : bad(argument, 'value expected')
}

export function refuse(argument: Argument, what: string): never {
  return bad(argument, what)
}
