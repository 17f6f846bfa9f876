/** A duration as people say it: 0.8 s, 12 s, 5 min 3 s, 2 h 10 min, 3 d. */
export function spoken(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000
  if (seconds < 10) {
    return `${seconds.toFixed(1)} s`
  }
  if (seconds < 60) {
    return `${Math.floor(seconds)} s`
  }
  if (seconds < 3_600) {
    const rest = Math.floor(seconds % 60)
    return `${Math.floor(seconds / 60)} min${rest === 0 ? '' : ` ${rest} s`}`
  }
  if (seconds < 86_400) {
    return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
  }
  return `${Math.floor(seconds / 86_400)} d`
}

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

const KINDS: Record<string, string> = { reentrant: 'plain', read: 'read-write', write: 'read-write' }

export function kindInWords(kind: string, mode: string): string {
  const name = KINDS[kind] ?? kind
  return mode === '' ? name || 'lock' : `${name || 'read-write'}, ${mode === 'read' ? 'readers' : 'writer'}`
}
