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
