const BETWEEN_SEGMENTS = /([:/|,{}#\s]+)/
const LONGEST_WORD = 24

/**
 * What names of locks have in common: `order:42` and `order:7` are `order:*`. Numbers, hex digits, UUIDs, other ids of
 * letters and digits, and whatever has an `@` in it become `*`; words stay. It is a guess, on the coarse side: give a
 * function of your own where names are words that differ, as user names do.
 */
export function lockNameTemplate(lockName: string): string {
  return lockName.split(BETWEEN_SEGMENTS).map(segmentTemplate).join('')
}

function segmentTemplate(segment: string): string {
  if (segment.includes('@') || segment.split(/[-_.]/).some(isId)) {
    return '*'
  }
  return segment.replaceAll(/\d+/g, '*').replaceAll(/\*(?:[-_.]\*)+/g, '*')
}

function isId(part: string): boolean {
  if (part.length > LONGEST_WORD) {
    return true
  }
  const isMixed = /\d/.test(part) && /[a-z]/i.test(part)
  // A word with a number behind it, as `shard12`, is no id: the number alone goes.
  return isMixed && (/^[\da-f]{6,}$/i.test(part) || (part.length >= 8 && /\d.*[a-z]/i.test(part)))
}
