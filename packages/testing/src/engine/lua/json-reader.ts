import { parseNumberAt } from './numbers.js'
import { JSON_NULL, LuaTable, raise, type LuaValue } from './values.js'

type Kind =
  | 'T_OBJ_BEGIN'
  | 'T_OBJ_END'
  | 'T_ARR_BEGIN'
  | 'T_ARR_END'
  | 'T_STRING'
  | 'T_NUMBER'
  | 'T_BOOLEAN'
  | 'T_NULL'
  | 'T_COLON'
  | 'T_COMMA'
  | 'T_END'

interface Token {
  /** null: it is none. */
  readonly kind: Kind | null
  readonly value: LuaValue
  /** Why it is none. */
  readonly wrong: string
  /** Where it begins, from 0. */
  readonly at: number
}

const SIGNS: Readonly<Record<string, Kind>> = {
  ...{ '{': 'T_OBJ_BEGIN', '}': 'T_OBJ_END', '[': 'T_ARR_BEGIN', ']': 'T_ARR_END' },
  ...{ ':': 'T_COLON', ',': 'T_COMMA', '\0': 'T_END' },
}
const WORDS: readonly (readonly [string, Kind, LuaValue])[] = [
  ['true', 'T_BOOLEAN', true],
  ['false', 'T_BOOLEAN', false],
  ['null', 'T_NULL', JSON_NULL],
]
const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
}
const VALUES: ReadonlySet<Kind> = new Set<Kind>(['T_STRING', 'T_NUMBER', 'T_BOOLEAN', 'T_NULL'])
/** Numbers to cjson that are none of JSON. */
const UNUSUAL_NUMBER = /\+|-?(?:0[xX\d]|inf|nan)/iy
const DEEPEST = 1_000

/**
 * Reads JSON as Redis's cjson does: with its idea of numbers, and its errors. Texts are bytes on both sides; only an
 * escape like \u00e9 stands for several of them.
 * @throws LuaError
 */
export function readJson(text: string): LuaValue {
  if (text.length >= 2 && (text[0] === '\0' || text[1] === '\0')) {
    raise('JSON parser does not support UTF-16 or UTF-32')
  }
  return new Reader(text).document()
}

class Reader {
  private at = 0
  private depth = 0

  constructor(private readonly text: string) {}

  document(): LuaValue {
    const value = this.value(this.next())
    this.expect('T_END', this.next(), 'the end')
    return value
  }

  private value(token: Token): LuaValue {
    if (token.kind === 'T_OBJ_BEGIN') {
      return this.nested(() => this.object())
    }
    if (token.kind === 'T_ARR_BEGIN') {
      return this.nested(() => this.array())
    }
    return token.kind !== null && VALUES.has(token.kind) ? token.value : fail('value', token)
  }

  private nested(read: () => LuaTable): LuaTable {
    this.depth += 1
    if (this.depth > DEEPEST) {
      raise(`Found too many nested data structures (${this.depth})`)
    }
    const table = read()
    this.depth -= 1
    return table
  }

  private object(): LuaTable {
    return this.entries('T_OBJ_END', 'comma or object end', (key, table) => {
      this.expect('T_STRING', key, 'object key string')
      this.expect('T_COLON', this.next(), 'colon')
      table.set(key.value, this.value(this.next()))
    })
  }

  private array(): LuaTable {
    let place = 0
    return this.entries('T_ARR_END', 'comma or array end', (first, table) => {
      table.set((place += 1), this.value(first))
    })
  }

  private entries(end: Kind, what: string, read: (first: Token, table: LuaTable) => void): LuaTable {
    const table = new LuaTable()
    let found = this.next()
    if (found.kind === end) {
      return table
    }
    for (;;) {
      read(found, table)
      const next = this.next()
      if (next.kind === end) {
        return table
      }
      this.expect('T_COMMA', next, what)
      found = this.next()
    }
  }

  private expect(kind: Kind, token: Token, what: string): void {
    if (token.kind !== kind) {
      fail(what, token)
    }
  }

  private next(): Token {
    while (/[ \t\n\r]/.test(this.text[this.at] ?? '')) {
      this.at += 1
    }
    const { at, text } = this
    const sign = text[at] ?? '\0'
    const known = SIGNS[sign]
    if (known) {
      this.at += known === 'T_END' ? 0 : 1
      return token(known, undefined, at)
    }
    if (sign === '"') {
      return this.string()
    }
    if (/[-\d]/.test(sign)) {
      return this.number()
    }
    const word = WORDS.find(([letters]) => text.startsWith(letters, at))
    if (word) {
      this.at += word[0].length
      return token(word[1], word[2], at)
    }
    UNUSUAL_NUMBER.lastIndex = at
    return UNUSUAL_NUMBER.test(text) ? this.number() : this.wrong('invalid token')
  }

  private wrong(why: string): Token {
    return { kind: null, value: undefined, wrong: why, at: this.at }
  }

  private number(): Token {
    const { at } = this
    const found = parseNumberAt(this.text, at)
    if (!found) {
      return this.wrong('invalid number')
    }
    this.at = found.end
    return token('T_NUMBER', found.value, at)
  }

  private string(): Token {
    const begin = this.at
    let value = ''
    for (this.at += 1; this.text[this.at] !== '"';) {
      const sign = this.text[this.at] ?? '\0'
      if (sign === '\0') {
        return this.wrong('unexpected end of string')
      }
      if (sign !== '\\') {
        value += sign
        this.at += 1
        continue
      }
      const letter = this.text[this.at + 1] ?? ''
      const escaped = letter === 'u' ? this.unicode() : ESCAPES[letter]
      if (escaped === undefined) {
        return this.wrong(letter === 'u' ? 'invalid unicode escape code' : 'invalid escape code')
      }
      value += escaped
      this.at += letter === 'u' ? 0 : 2
    }
    this.at += 1
    return token('T_STRING', value, begin)
  }

  /** The bytes of `\u00e9`, or of two such that stand for one character; undefined: they are none. */
  private unicode(): string | undefined {
    const [whole, high = '', low] =
      /^\\u([\da-f]{4})(?:\\u([\da-f]{4}))?/i.exec(this.text.slice(this.at, this.at + 12)) ?? []
    const code = parseInt(high, 16)
    if (whole === undefined || (code >= 0xdc00 && code <= 0xdfff)) {
      return undefined
    }
    const isPair = code >= 0xd800 && code <= 0xdbff
    const second = parseInt(low ?? '', 16)
    if (isPair && !(second >= 0xdc00 && second <= 0xdfff)) {
      return undefined
    }
    this.at += isPair ? 12 : 6
    const sign = isPair ? String.fromCharCode(code, second) : String.fromCharCode(code)
    return Buffer.from(sign, 'utf8').toString('latin1')
  }
}

function token(kind: Kind, value: LuaValue, at: number): Token {
  return { kind, value, wrong: '', at }
}

function fail(what: string, { kind, wrong, at }: Token): never {
  return raise(`Expected ${what} but found ${kind ?? wrong} at character ${at + 1}`)
}
