import { raise } from './values.js'

/** A capture: its text, or the place of `()`. */
export type Capture = string | number

export interface Match {
  readonly from: number
  /** Behind the last character. */
  readonly to: number
  readonly captures: readonly Capture[]
}

const SPECIAL = /[\^$*+?.([%-]/
const MOST_CAPTURES = 32
const POSITION = -2
const OPEN = -1

const CLASSES: Readonly<Record<string, RegExp>> = {
  a: /[A-Za-z]/,
  c: /[\x00-\x1f\x7f]/, // eslint-disable-line no-control-regex -- what iscntrl() is of
  d: /[0-9]/,
  l: /[a-z]/,
  p: /[!-/:-@[-`{-~]/,
  s: /[ \t\r\n\f\v]/,
  u: /[A-Z]/,
  w: /[A-Za-z0-9]/,
  x: /[A-Fa-f0-9]/,
  z: /\x00/, // eslint-disable-line no-control-regex -- what %z is
}

/** Whether a text is a pattern that means nothing but itself. */
export function isPlain(pattern: string): boolean {
  return !SPECIAL.test(pattern)
}

/**
 * The first place at or behind `from` where a Lua pattern matches; null: none.
 * @param knowsAnchor whether `^` stands for the beginning: to `gmatch` it is a character like others
 */
export function findMatch(text: string, pattern: string, from: number, knowsAnchor = true): Match | null {
  const isAnchored = knowsAnchor && pattern.startsWith('^')
  for (let at = from; at <= text.length; at += 1) {
    const matcher = new Matcher(text, pattern)
    const to = matcher.match(at, isAnchored ? 1 : 0)
    if (to !== null) {
      return { from: at, to, captures: matcher.captured() }
    }
    if (isAnchored) {
      return null
    }
  }
  return null
}

/** Lua's own way (lstrlib.c): it goes back where a later part does not match. */
class Matcher {
  private readonly captures: { readonly from: number; length: number }[] = []

  constructor(
    private readonly text: string,
    private readonly pattern: string,
  ) {}

  captured(): Capture[] {
    return this.captures.map(({ from, length }) => {
      if (length === OPEN) {
        raise('unfinished capture')
      }
      return length === POSITION ? from + 1 : this.text.slice(from, from + length)
    })
  }

  /** @returns behind what matched; null: nothing does */
  match(start: number, begin: number): number | null {
    let at = start
    let p = begin
    const { pattern, text } = this
    while (p < pattern.length) {
      const sign = pattern[p]
      if (sign === '(') {
        return pattern[p + 1] === ')'
          ? this.withCapture(at, POSITION, p + 2)
          : this.withCapture(at, OPEN, p + 1)
      }
      if (sign === ')') {
        return this.closeCapture(at, p + 1)
      }
      if (sign === '$' && p + 1 === pattern.length) {
        return at === text.length ? at : null
      }
      if (sign === '%') {
        const special = this.special(at, p)
        if (special) {
          if (special.at === null) {
            return null
          }
          at = special.at
          p = special.p
          continue
        }
      }
      const end = this.classEnd(p)
      const quantifier = pattern[end]
      if (quantifier === '?') {
        const taken = this.isOne(at, p, end) ? this.match(at + 1, end + 1) : null
        if (taken !== null) {
          return taken
        }
        p = end + 1
        continue
      }
      if (quantifier === '*' || quantifier === '+') {
        return this.most(at, p, end, quantifier === '+' ? 1 : 0)
      }
      if (quantifier === '-') {
        return this.fewest(at, p, end)
      }
      if (!this.isOne(at, p, end)) {
        return null
      }
      at += 1
      p = end
    }
    return at
  }

  /** `%b()`, `%f[set]` and `%1`; null: an ordinary class. */
  private special(at: number, p: number): { readonly at: number | null; readonly p: number } | null {
    const { pattern, text } = this
    const sign = pattern[p + 1] ?? ''
    if (sign === 'b') {
      return { at: this.balanced(at, p + 2), p: p + 4 }
    }
    if (sign === 'f') {
      if (pattern[p + 2] !== '[') {
        raise(`missing '[' after '%f' in pattern`)
      }
      const end = this.classEnd(p + 2)
      const isBorder =
        !this.isIn(text.charCodeAt(at - 1) || 0, p + 2, end) &&
        this.isIn(text.charCodeAt(at) || 0, p + 2, end)
      return { at: isBorder ? at : null, p: end }
    }
    if (/\d/.test(sign)) {
      const capture = this.captures[Number(sign) - 1]
      if (!capture || capture.length === OPEN) {
        return raise('invalid capture index')
      }
      const earlier = text.slice(capture.from, capture.from + capture.length)
      return { at: text.startsWith(earlier, at) ? at + earlier.length : null, p: p + 2 }
    }
    return null
  }

  private withCapture(at: number, length: number, p: number): number | null {
    if (this.captures.length >= MOST_CAPTURES) {
      raise('too many captures')
    }
    this.captures.push({ from: at, length })
    const end = this.match(at, p)
    if (end === null) {
      this.captures.pop()
    }
    return end
  }

  private closeCapture(at: number, p: number): number | null {
    const capture =
      this.captures.findLast(({ length }) => length === OPEN) ?? raise('invalid pattern capture')
    capture.length = at - capture.from
    const end = this.match(at, p)
    if (end === null) {
      capture.length = OPEN
    }
    return end
  }

  private most(start: number, p: number, end: number, least: number): number | null {
    let count = 0
    while (this.isOne(start + count, p, end)) {
      count += 1
    }
    for (; count >= least; count -= 1) {
      const found = this.match(start + count, end + 1)
      if (found !== null) {
        return found
      }
    }
    return null
  }

  private fewest(start: number, p: number, end: number): number | null {
    for (let at = start; ; at += 1) {
      const found = this.match(at, end + 1)
      if (found !== null) {
        return found
      }
      if (!this.isOne(at, p, end)) {
        return null
      }
    }
  }

  private balanced(at: number, p: number): number | null {
    const [opening, closing] = [this.pattern[p], this.pattern[p + 1]]
    if (opening === undefined || closing === undefined) {
      raise('unbalanced pattern')
    }
    if (this.text[at] !== opening) {
      return null
    }
    let depth = 1
    for (let i = at + 1; i < this.text.length; i += 1) {
      const sign = this.text[i]
      if (sign === closing) {
        depth -= 1
        if (depth === 0) {
          return i + 1
        }
      } else if (sign === opening) {
        depth += 1
      }
    }
    return null
  }

  /** Behind the single-character class that begins at `p`. */
  private classEnd(p: number): number {
    const { pattern } = this
    if (pattern[p] === '%') {
      return p + 1 < pattern.length ? p + 2 : raise(`malformed pattern (ends with '%')`)
    }
    if (pattern[p] !== '[') {
      return p + 1
    }
    let at = pattern[p + 1] === '^' ? p + 2 : p + 1
    do {
      if (at >= pattern.length) {
        raise(`malformed pattern (missing ']')`)
      }
      at += pattern[at] === '%' ? 2 : 1
    } while (pattern[at] !== ']')
    return at + 1
  }

  private isOne(at: number, p: number, end: number): boolean {
    return at < this.text.length && this.isIn(this.text.charCodeAt(at), p, end)
  }

  private isIn(code: number, p: number, end: number): boolean {
    const sign = this.pattern[p] as string
    if (sign === '.') {
      return true
    }
    if (sign === '%') {
      return isOfClass(code, this.pattern[p + 1] as string)
    }
    return sign === '[' ? this.isInSet(code, p + 1, end - 1) : code === sign.charCodeAt(0)
  }

  private isInSet(code: number, begin: number, end: number): boolean {
    const { pattern } = this
    const isNegated = pattern[begin] === '^'
    for (let p = isNegated ? begin + 1 : begin; p < end; p += 1) {
      if (pattern[p] === '%') {
        p += 1
        if (isOfClass(code, pattern[p] as string)) {
          return !isNegated
        }
      } else if (pattern[p + 1] === '-' && p + 2 < end) {
        if (pattern.charCodeAt(p) <= code && code <= pattern.charCodeAt(p + 2)) {
          return !isNegated
        }
        p += 2
      } else if (pattern.charCodeAt(p) === code) {
        return !isNegated
      }
    }
    return isNegated
  }
}

function isOfClass(code: number, sign: string): boolean {
  const members = CLASSES[sign.toLowerCase()]
  if (!members) {
    return sign.charCodeAt(0) === code
  }
  return members.test(String.fromCharCode(code)) === (sign === sign.toLowerCase())
}
