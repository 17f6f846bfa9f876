/** One step of SCAN through the hashes of one node: answers what Redis does, a cursor and keys. */
export type KeyScan = (cursor: string, match: string, count: number) => Promise<unknown>

/** Arguments of SCAN. TYPE leaves most of what is no lock to Redis. */
export function hashesIn(cursor: string, match: string, count: number): string[] {
  return [cursor, 'MATCH', match, 'COUNT', `${count}`, 'TYPE', 'hash']
}
