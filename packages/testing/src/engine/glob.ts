/** One of Redis's patterns of keys and channels. */
export interface Glob {
  test(text: string): boolean
}

/** Redis's patterns of keys and channels: `*`, `?`, `[a-z]`, `[^a]` and `\` before any. */
export function glob(pattern: string): Glob {
  return { test: (text) => matches(pattern, 0, text, 0) }
}

/** The matcher of Redis (util.c), which is no regular expression: a set may have its ends exchanged, or no end at all. */
function matches(pattern: string, from: number, text: string, begin: number): boolean {
  let [p, at] = [from, begin]
  while (p < pattern.length && at < text.length) {
    const sign = pattern[p]
    if (sign === '*') {
      return afterStar(pattern, p, text, at)
    }
    if (sign === '[') {
      const set = setAt(pattern, p, text[at] as string)
      if (!set.has) {
        return false
      }
      p = set.end
    } else if (sign !== '?') {
      p += sign === '\\' && p + 1 < pattern.length ? 1 : 0
      if (pattern[p] !== text[at]) {
        return false
      }
    }
    p += 1
    at += 1
    while (at === text.length && pattern[p] === '*') {
      p += 1
    }
  }
  return p >= pattern.length && at === text.length
}

function afterStar(pattern: string, star: number, text: string, begin: number): boolean {
  let p = star
  while (pattern[p + 1] === '*') {
    p += 1
  }
  if (p + 1 === pattern.length) {
    return true
  }
  for (let at = begin; at < text.length; at += 1) {
    if (matches(pattern, p + 1, text, at)) {
      return true
    }
  }
  return false
}

/** Whether a set has this character, and where its last one stands. */
function setAt(
  pattern: string,
  opening: number,
  sign: string,
): { readonly has: boolean; readonly end: number } {
  let p = opening + 1
  const isNegated = pattern[p] === '^'
  p += isNegated ? 1 : 0
  let isIn = false
  for (; ; p += 1) {
    if (p >= pattern.length) {
      return { has: isIn !== isNegated, end: pattern.length - 1 }
    }
    if (pattern[p] === '\\' && p + 1 < pattern.length) {
      p += 1
      isIn ||= pattern[p] === sign
    } else if (pattern[p] === ']') {
      return { has: isIn !== isNegated, end: p }
    } else if (pattern[p + 1] === '-' && p + 2 < pattern.length) {
      const [one, other] = [pattern[p] as string, pattern[p + 2] as string]
      isIn ||= one <= other ? one <= sign && sign <= other : other <= sign && sign <= one
      p += 2
    } else {
      isIn ||= pattern[p] === sign
    }
  }
}
