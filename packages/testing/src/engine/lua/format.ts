import { at, numberAt, refuse, textAt, type Argument } from './arguments.js'
import { exponential, fixed, general } from './numbers.js'
import { raise, type LuaValue } from './values.js'

const SPEC = /%([-+ #0]*)(\d{0,2})(?:\.(\d{0,2}))?(.?)/gs

/** Lua's `string.format`, which is C's printf. */
export function format(...args: LuaValue[]): string {
  const template = textAt(args, at('format', 1))
  let place = 1
  return template.replace(SPEC, (...[, flags = '', width = '', precision, kind = '']: string[]) => {
    if (kind === '%') {
      return '%'
    }
    place += 1
    const argument = at('format', place)
    if (place > args.length) {
      refuse(argument, 'no value')
    }
    const limit = precision === undefined ? null : Number(precision)
    return padded(formatted(kind, args, { argument, limit, flags }), flags, Number(width), kind)
  })
}

interface Wanted {
  readonly argument: Argument
  /** Behind the point; null: none is given. */
  readonly limit: number | null
  readonly flags: string
}

function formatted(kind: string, args: readonly LuaValue[], { argument, limit, flags }: Wanted): string {
  switch (kind) {
    case 's': {
      const text = textAt(args, argument)
      // Only a long one without a limit is not C's: to that a text ends at its NUL.
      return limit === null && text.length >= 100
        ? text
        : (text.split('\0', 1)[0] ?? '').slice(0, limit ?? undefined)
    }
    case 'q':
      return quoted(textAt(args, argument))
    case 'c':
      // To C a text ends at its NUL.
      return String.fromCharCode(int32(numberAt(args, argument)) & 255).replace('\0', '')
    case 'd':
    case 'i':
      return signed(whole(numberAt(args, argument), limit), flags)
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return unsigned(kind, numberAt(args, argument), limit)
    case 'f':
      return signed(fixed(numberAt(args, argument), limit ?? 6), flags)
    case 'e':
    case 'E':
    case 'g':
    case 'G': {
      const write = kind.toLowerCase() === 'e' ? exponential : general
      const text = signed(write(numberAt(args, argument), limit ?? 6), flags)
      return kind === kind.toLowerCase() ? text : text.toUpperCase()
    }
    default:
      return raise(`invalid option '%${kind}' to 'format'`)
  }
}

function whole(value: number, limit: number | null): string {
  const integer = Math.abs(value) < 2 ** 63 ? BigInt(Math.trunc(value)) : -(2n ** 63n)
  const digits = String(integer < 0n ? -integer : integer).padStart(limit ?? 1, '0')
  return integer < 0n ? `-${digits}` : digits
}

/** C's cast on x86: what has no 32 bits is the least int. */
function int32(value: number): number {
  return Math.abs(value) < 2 ** 31 ? Math.trunc(value) : -(2 ** 31)
}

/** The result of C's cast on x86, also of numbers beyond 64 bits. */
function unsigned64(value: number): bigint {
  if (value >= 2 ** 63) {
    return value < 2 ** 64 ? BigInt(Math.trunc(value)) : 0n
  }
  return value >= -(2 ** 63) ? BigInt.asUintN(64, BigInt(Math.trunc(value))) : 2n ** 63n
}

function unsigned(kind: string, value: number, limit: number | null): string {
  const integer = unsigned64(value)
  const text = integer.toString(kind === 'u' ? 10 : kind === 'o' ? 8 : 16).padStart(limit ?? 1, '0')
  return kind === 'X' ? text.toUpperCase() : text
}

function signed(text: string, flags: string): string {
  if (text.startsWith('-')) {
    return text
  }
  return flags.includes('+') ? `+${text}` : flags.includes(' ') ? ` ${text}` : text
}

function padded(text: string, flags: string, width: number, kind: string): string {
  if (flags.includes('-')) {
    return text.padEnd(width)
  }
  if (!flags.includes('0') || 'sqc'.includes(kind)) {
    return text.padStart(width)
  }
  const sign = /^[-+ ]/.exec(text)?.[0] ?? ''
  return sign + text.slice(sign.length).padStart(width - sign.length, '0')
}

function quoted(text: string): string {
  const inside = text
    .replace(/["\\\n]/g, (sign) => `\\${sign}`)
    .replaceAll('\r', '\\r')
    .replaceAll('\0', '\\000')
  return `"${inside}"`
}
