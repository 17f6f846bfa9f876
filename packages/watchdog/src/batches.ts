/**
 * Splits items into chunks of at most `size` that all have the same key, in the order they came.
 * A key of its own never shares a chunk, however small both are.
 */
export function batches<T>(items: readonly T[], size: number, keyOf: (item: T) => unknown): T[][] {
  const open = new Map<unknown, T[]>()
  const chunks: T[][] = []
  for (const item of items) {
    const key = keyOf(item)
    let chunk = open.get(key)
    if (chunk === undefined || chunk.length === size) {
      chunk = []
      open.set(key, chunk)
      chunks.push(chunk)
    }
    chunk.push(item)
  }
  return chunks
}

/** Puts into chunks that are not full what has their key and finds room; the rest stays where it is. */
export function topUp<T>(
  chunks: readonly T[][],
  spare: readonly T[],
  size: number,
  keyOf: (item: T) => unknown,
): void {
  const open = new Map<unknown, T[]>()
  for (const chunk of chunks) if (chunk.length < size) open.set(keyOf(chunk[0] as T), chunk)
  for (const item of spare) {
    if (open.size === 0) return
    const key = keyOf(item)
    const chunk = open.get(key)
    chunk?.push(item)
    if (chunk?.length === size) open.delete(key)
  }
}
