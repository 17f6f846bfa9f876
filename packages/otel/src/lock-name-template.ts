const BETWEEN_SEGMENTS = /([:/|,{}#\s]+)/
const LONGEST_WORD = 24

/**
 * Makes the common form of lock names: `order:42` and `order:7` become `order:*`. Numbers, hex digits, UUIDs, other
 * ids of letters and digits, and all segments with an `@` become `*`; words stay. A heuristic, on the coarse side:
 * supply your own function if names contain varying words, such as user names.
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
  // A word with a number behind it, as `shard12`, is not an id: only the number is replaced.
  return isMixed && (/^[\da-f]{6,}$/i.test(part) || (part.length >= 8 && /\d.*[a-z]/i.test(part)))
}
