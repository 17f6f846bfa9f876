/** Splits items into chunks of at most `size`, in order, each with items of one key only, however small. */
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

/** Fills chunks that are not full with spare items of their key; the rest is left out. */
export function topUp<T>(
  chunks: readonly T[][],
  spare: readonly T[],
  size: number,
  keyOf: (item: T) => unknown,
): void {
  const open = new Map<unknown, T[]>()
  for (const chunk of chunks) {
    if (chunk.length < size) {
      open.set(keyOf(chunk[0] as T), chunk)
    }
  }
  for (const item of spare) {
    if (open.size === 0) {
      return
    }
    const key = keyOf(item)
    const chunk = open.get(key)
    chunk?.push(item)
    if (chunk?.length === size) {
      open.delete(key)
    }
  }
}
