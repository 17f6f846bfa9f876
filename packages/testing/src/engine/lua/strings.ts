import { at, refuse, textAt, intAt, wholeAt } from './arguments.js'
import { format } from './format.js'
import { toText } from './numbers.js'
import { findMatch, isPlain, type Match } from './patterns.js'
import {
  first,
  LuaTable,
  raise,
  severalOf,
  typeOf,
  type LuaFunction,
  type LuaValue,
  type Results,
} from './values.js'

/** A place as Lua counts: from 1, from the end when negative. */
function placeIn(text: string, place: number): number {
  return place < 0 ? Math.max(text.length + place + 1, 0) : place
}

function sub(...args: LuaValue[]): string {
  const text = textAt(args, at('sub', 1))
  const from = Math.max(placeIn(text, wholeAt(args, at('sub', 2))), 1)
  return text.slice(from - 1, Math.max(placeIn(text, wholeAt(args, at('sub', 3), -1)), 0))
}

function byte(...args: LuaValue[]): Results {
  const text = textAt(args, at('byte', 1))
  const from = placeIn(text, wholeAt(args, at('byte', 2), 1))
  const to = placeIn(text, wholeAt(args, at('byte', 3), from))
  return severalOf(Array.from(text.slice(Math.max(from, 1) - 1, to), (sign) => sign.charCodeAt(0)))
}

function char(...args: LuaValue[]): string {
  const codes = args.map((_, i) => {
    const code = intAt(args, at('char', i + 1))
    return code >= 0 && code <= 255 ? code : refuse(at('char', i + 1), 'invalid value')
  })
  return String.fromCharCode(...codes)
}

/** The values of a match: its captures, or the whole where there are none. */
function captured(text: string, match: Match): readonly LuaValue[] {
  return match.captures.length > 0 ? match.captures : [text.slice(match.from, match.to)]
}

/** Where `find` and `match` begin, from 0. */
function beginIn(text: string, args: readonly LuaValue[], of: string): number {
  const from = placeIn(text, wholeAt(args, at(of, 3), 1)) - 1
  return Math.min(Math.max(from, 0), text.length)
}

function find(...args: LuaValue[]): Results {
  const [text, pattern] = [textAt(args, at('find', 1)), textAt(args, at('find', 2))]
  const from = beginIn(text, args, 'find')
  if ((args[3] !== undefined && args[3] !== false) || isPlain(pattern)) {
    const place = text.indexOf(pattern, from)
    return place < 0 ? undefined : severalOf([place + 1, place + pattern.length])
  }
  const match = findMatch(text, pattern, from)
  return match ? severalOf([match.from + 1, match.to, ...match.captures]) : undefined
}

function match(...args: LuaValue[]): Results {
  const [text, pattern] = [textAt(args, at('match', 1)), textAt(args, at('match', 2))]
  const found = findMatch(text, pattern, beginIn(text, args, 'match'))
  return found ? severalOf(captured(text, found)) : undefined
}

function gmatch(...args: LuaValue[]): LuaFunction {
  const [text, pattern] = [textAt(args, at('gmatch', 1)), textAt(args, at('gmatch', 2))]
  let from = 0
  return () => {
    const found = from <= text.length ? findMatch(text, pattern, from, false) : null
    if (!found) {
      return undefined
    }
    from = found.to === found.from ? found.to + 1 : found.to
    return severalOf(captured(text, found))
  }
}

function gsub(...args: LuaValue[]): Results {
  const [text, pattern] = [textAt(args, at('gsub', 1)), textAt(args, at('gsub', 2))]
  const most = wholeAt(args, at('gsub', 4), text.length + 1)
  const replace = replacement(args)
  let result = ''
  let from = 0
  let count = 0
  while (count < most) {
    const found = findMatch(text, pattern, from)
    if (!found) {
      break
    }
    count += 1
    result += text.slice(from, found.from) + replace(text, found)
    from = found.to
    if (found.to === found.from) {
      // Nothing was taken: the next character stands as it is.
      result += text.slice(from, from + 1)
      from += 1
    }
    if (from > text.length || pattern.startsWith('^')) {
      break
    }
  }
  return severalOf([result + text.slice(from), count])
}

function replacement(args: readonly LuaValue[]): (text: string, found: Match) => string {
  const by = args[2]
  const whole = (text: string, { from, to }: Match): string => text.slice(from, to)
  const orWhole = (value: LuaValue, text: string, found: Match): string =>
    value === undefined || value === false
      ? whole(text, found)
      : (toText(value) ?? raise(`invalid replacement value (a ${typeOf(value)})`))
  if (typeof by === 'function') {
    return (text, found) => orWhole(first(by(...captured(text, found))), text, found)
  }
  if (by instanceof LuaTable) {
    return (text, found) => orWhole(by.get(captured(text, found)[0]), text, found)
  }
  const template = toText(by)
  if (template === undefined) {
    return refuse(at('gsub', 3), 'string/function/table expected')
  }
  return (text, found) =>
    template.replace(/%(.?)/gs, (_, sign: string) => {
      if (!/\d/.test(sign)) {
        return sign
      }
      const value = sign === '0' ? whole(text, found) : captured(text, found)[Number(sign) - 1]
      return toText(value) ?? raise('invalid capture index')
    })
}

export const stringLibrary = LuaTable.from({
  byte,
  char,
  find,
  format,
  gmatch,
  gsub,
  match,
  sub,
  len: (...args) => textAt(args, at('len', 1)).length,
  lower: (...args) => textAt(args, at('lower', 1)).replace(/[A-Z]+/g, (text) => text.toLowerCase()),
  upper: (...args) => textAt(args, at('upper', 1)).replace(/[a-z]+/g, (text) => text.toUpperCase()),
  rep: (...args) => textAt(args, at('rep', 1)).repeat(Math.max(intAt(args, at('rep', 2)), 0)),
  reverse: (...args) =>
    Array.from(textAt(args, at('reverse', 1)))
      .reverse()
      .join(''),
})
