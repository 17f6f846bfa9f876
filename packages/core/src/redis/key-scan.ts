/** One SCAN step through the hashes of one node; resolves with Redis's reply: a cursor and keys. */
export type KeyScan = (cursor: string, match: string, count: number) => Promise<unknown>

/** Arguments of SCAN. TYPE makes Redis skip most keys that are not locks. */
export function hashesIn(cursor: string, match: string, count: number): string[] {
  return [cursor, 'MATCH', match, 'COUNT', `${count}`, 'TYPE', 'hash']
}
