import { general, textOf } from './lua/numbers.js'
import { JSON_NULL, LuaTable, type LuaValue } from './lua/values.js'
import { ErrorReply, Status, type Reply } from './reply.js'

// How Redis carries values between commands and Lua.

const SMALLEST = -(2n ** 63n)

/** A reply of a command, for the script. */
export function toLua(reply: Reply): LuaValue {
  if (reply === null) {
    return false
  }
  if (reply instanceof Status) {
    return LuaTable.from({ ok: reply.text })
  }
  if (reply instanceof ErrorReply) {
    return LuaTable.from({ err: reply.message })
  }
  if (typeof reply === 'object') {
    return LuaTable.of(reply.map(toLua))
  }
  return typeof reply === 'bigint' ? Number(reply) : reply
}

/** The value of a script, for its caller: fractions are cut, and a list ends at its first nil. */
export function toReply(value: LuaValue): Reply {
  if (typeof value === 'string') {
    return value
  }
  if (typeof value === 'number') {
    return integerOf(value)
  }
  return value instanceof LuaTable ? ofTable(value) : value === true ? 1 : null
}

function integerOf(value: number): number | bigint {
  const whole = Math.trunc(value)
  if (Number.isSafeInteger(whole)) {
    // Not -0.
    return whole + 0
  }
  // The result of C's cast on x86 for numbers beyond 64 bits.
  return Math.abs(whole) < 2 ** 63 ? BigInt(whole) : SMALLEST
}

function ofTable(table: LuaTable): Reply {
  if (table === JSON_NULL) {
    return null
  }
  const error = table.get('err')
  if (typeof error === 'string') {
    return new ErrorReply(error)
  }
  const status = table.get('ok')
  if (typeof status === 'string') {
    return new Status(status.replace(/[\r\n]/g, ' '))
  }
  const end = table.list.indexOf(undefined)
  return (end < 0 ? table.list : table.list.slice(0, end)).map(toReply)
}

/** An argument of a command that a script runs; null: it is neither text nor number. */
export function toArgument(value: LuaValue): string | null {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? textOf17(value) : general(value, 17)
  }
  return typeof value === 'string' ? value : null
}

function textOf17(value: number): string {
  // Up to here `%.17g` and JavaScript write whole numbers alike.
  return Object.is(value, -0) ? textOf(value) : String(value)
}
