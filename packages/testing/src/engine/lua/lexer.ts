/** A script that is no Lua 5.1; the message is worded as Lua's, with the line. */
export class LuaSyntaxError extends Error {
  constructor(what: string, line: number) {
    super(`user_script:${line}: ${what}`)
    this.name = 'LuaSyntaxError'
  }
}

export interface Token {
  readonly type: 'name' | 'keyword' | 'number' | 'string' | 'symbol' | 'end'
  /** The content of a string, the text of anything else. */
  readonly text: string
  readonly line: number
}

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
)
const LETTER = /[A-Za-z_]/
const DIGIT = /\d/
const SPACE = /[ \t\r\n\f\v]+/y
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
const NUMBER = /0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y
const SYMBOL = /\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];:,.]/y
const LONG_OPENING = /\[(=*)\[/y
const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
  ...{ '\\': '\\', '"': '"', "'": "'", '\n': '\n' },
}

/** The tokens of a script, whose characters are bytes. @throws LuaSyntaxError */
export function tokensOf(source: string): Token[] {
  return new Lexer(source).all()
}

class Lexer {
  private at = 0
  private line = 1

  constructor(private readonly source: string) {}

  all(): Token[] {
    const tokens: Token[] = []
    for (;;) {
      this.skipBlanks()
      const token = this.next()
      tokens.push(token)
      if (token.type === 'end') {
        return tokens
      }
    }
  }

  private next(): Token {
    const { line, source } = this
    const sign = source[this.at]
    if (sign === undefined) {
      return { type: 'end', text: '<eof>', line }
    }
    // The first character says what it can be: to try everything at every place would be most of the work.
    if (LETTER.test(sign)) {
      const name = this.take(NAME) as string
      return { type: KEYWORDS.has(name) ? 'keyword' : 'name', text: name, line }
    }
    const number = DIGIT.test(sign) || sign === '.' ? this.take(NUMBER) : null
    if (number !== null) {
      const rest = this.take(NAME)
      if (rest !== null) {
        throw new LuaSyntaxError(`malformed number near '${number}${rest}'`, line)
      }
      return { type: 'number', text: number, line }
    }
    if (sign === '"' || sign === "'") {
      return { type: 'string', text: this.shortString(sign), line }
    }
    const long = sign === '[' ? this.longBracket() : null
    if (long !== null) {
      return { type: 'string', text: long, line }
    }
    const symbol = this.take(SYMBOL)
    if (symbol === null) {
      throw new LuaSyntaxError(`unexpected symbol near '${sign}'`, line)
    }
    return { type: 'symbol', text: symbol, line }
  }

  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at
    const text = pattern.exec(this.source)?.[0]
    if (text === undefined) {
      return null
    }
    this.advance(text)
    return text
  }

  private advance(text: string): void {
    this.at += text.length
    for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) {
      this.line += 1
    }
  }

  private skipBlanks(): void {
    for (;;) {
      if (this.take(SPACE) !== null) {
        continue
      }
      if (!this.source.startsWith('--', this.at)) {
        return
      }
      this.at += 2
      if (this.longBracket() === null) {
        const end = this.source.indexOf('\n', this.at)
        this.at = end < 0 ? this.source.length : end
      }
    }
  }

  /** `[[...]]` or `[==[...]==]`; null: something else stands here. */
  private longBracket(): string | null {
    LONG_OPENING.lastIndex = this.at
    const opening = LONG_OPENING.exec(this.source)
    if (!opening) {
      return null
    }
    const from = this.at + opening[0].length
    const end = this.source.indexOf(`]${opening[1] ?? ''}]`, from)
    if (end < 0) {
      throw new LuaSyntaxError(`unfinished long string near '<eof>'`, this.line)
    }
    const content = this.source.slice(from, end)
    this.advance(this.source.slice(this.at, end + opening[0].length))
    // Lua leaves out a line feed directly behind the opening.
    return content.replace(/^\r?\n/, '')
  }

  private shortString(quote: string): string {
    const { line } = this
    let text = ''
    for (this.at += 1; ;) {
      const sign = this.source[this.at]
      if (sign === undefined || sign === '\n') {
        const near = sign === undefined ? '<eof>' : quote + text
        throw new LuaSyntaxError(`unfinished string near '${near}'`, line)
      }
      this.at += 1
      if (sign === quote) {
        return text
      }
      text += sign === '\\' ? this.escape() : sign
    }
  }

  private escape(): string {
    const [digits] = /^\d{1,3}/.exec(this.source.slice(this.at, this.at + 3)) ?? []
    if (digits !== undefined) {
      if (Number(digits) > 255) {
        throw new LuaSyntaxError(`escape sequence too large near '\\${digits}'`, this.line)
      }
      this.at += digits.length
      return String.fromCharCode(Number(digits))
    }
    const sign = this.source[this.at] ?? ''
    this.advance(sign)
    return ESCAPES[sign] ?? sign
  }
}
