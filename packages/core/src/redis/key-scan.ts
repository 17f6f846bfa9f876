export type ScannedType = 'hash' | 'string'

/** One SCAN step through the keys of one node; resolves with Redis's reply: a cursor and keys. */
export type KeyScan = (cursor: string, match: string, count: number, type: ScannedType) => Promise<unknown>

/** Arguments of SCAN. TYPE makes Redis skip most keys that are not locks. */
export function scanArguments(cursor: string, match: string, count: number, type: ScannedType): string[] {
  return [cursor, 'MATCH', match, 'COUNT', `${count}`, 'TYPE', type]
}
