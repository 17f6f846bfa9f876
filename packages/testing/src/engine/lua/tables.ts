import { at, intAt, tableAt, textAt } from './arguments.js'
import { toText } from './numbers.js'
import { first, LuaTable, NOTHING, raise, typeOf, type LuaValue, type Results } from './values.js'

function concat(...args: LuaValue[]): string {
  const table = tableAt(args, at('concat', 1))
  const separator = args[1] === undefined ? '' : textAt(args, at('concat', 2))
  const to = intAt(args, at('concat', 4), table.length)
  const parts: string[] = []
  for (let i = intAt(args, at('concat', 3), 1); i <= to; i += 1) {
    const value = table.get(i)
    parts.push(toText(value) ?? raise(`invalid value (${typeOf(value)}) at index ${i} in table for 'concat'`))
  }
  return parts.join(separator)
}

function insert(...args: LuaValue[]): Results {
  const table = tableAt(args, at('insert', 1))
  if (args.length === 2) {
    table.set(table.length + 1, args[1])
    return NOTHING
  }
  if (args.length !== 3) {
    raise(`wrong number of arguments to 'insert'`)
  }
  const place = intAt(args, at('insert', 2))
  for (let i = table.length; i >= place; i -= 1) {
    table.set(i + 1, table.get(i))
  }
  table.set(place, args[2])
  return NOTHING
}

function remove(...args: LuaValue[]): Results {
  const table = tableAt(args, at('remove', 1))
  const end = table.length
  const place = intAt(args, at('remove', 2), end)
  if (place < 1 || place > end) {
    return NOTHING
  }
  const value = table.get(place)
  for (let i = place; i < end; i += 1) {
    table.set(i, table.get(i + 1))
  }
  table.set(end, undefined)
  return value
}

function sort(...args: LuaValue[]): Results {
  const table = tableAt(args, at('sort', 1))
  const isLess = args[1]
  table.list.sort((one, other) => {
    if (typeof isLess === 'function') {
      const is = (left: LuaValue, right: LuaValue): boolean => !!first(isLess(left, right))
      return is(one, other) ? -1 : is(other, one) ? 1 : 0
    }
    if (typeof one !== typeof other || (typeof one !== 'number' && typeof one !== 'string')) {
      return raise(`attempt to compare ${typeOf(one)} with ${typeOf(other)}`)
    }
    return one < (other as typeof one) ? -1 : one > (other as typeof one) ? 1 : 0
  })
  return NOTHING
}

export const tableLibrary = LuaTable.from({
  concat,
  insert,
  remove,
  sort,
  getn: (...args) => tableAt(args, at('getn', 1)).length,
  maxn: (...args) =>
    Math.max(
      0,
      ...[...tableAt(args, at('maxn', 1)).entries()].map(([key]) => (typeof key === 'number' ? key : 0)),
    ),
})
