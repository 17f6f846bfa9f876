/** Redis's patterns of keys and channels, as a regular expression: `*`, `?`, `[a-z]`, `[^a]` and `\` before any. */
export function glob(pattern: string): RegExp {
  let source = ''
  for (let at = 0; at < pattern.length; at += 1) {
    const sign = pattern[at] as string
    const end = sign === '[' ? pattern.indexOf(']', at + 1) : -1
    if (sign === '*') {
      source += '[^]*'
    } else if (sign === '?') {
      source += '[^]'
    } else if (end > 0) {
      const set = pattern.slice(at + 1, end)
      const isNegated = set.startsWith('^')
      source += `[${isNegated ? '^' : ''}${set.slice(isNegated ? 1 : 0).replace(/[\\\]^[]/g, '\\$&')}]`
      at = end
    } else {
      at += sign === '\\' && at + 1 < pattern.length ? 1 : 0
      source += (pattern[at] as string).replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
    }
  }
  return new RegExp(`^${source}$`)
}
