/** An entry with a deadline that stores its own position in the heap. */
export interface HeapEntry {
  deadline: number
  /** Written by the heap only; -1 outside the heap. */
  heapIndex: number
}

/**
 * Binary min-heap by deadline. Every entry knows its own index, so that removal is O(log n) without a search or a
 * tombstone: almost every watch is removed long before it is due.
 */
export class DeadlineHeap<E extends HeapEntry> {
  private readonly entries: E[] = []

  get size(): number {
    return this.entries.length
  }

  peek(): E | undefined {
    return this.entries[0]
  }

  push(entry: E): void {
    this.entries.push(entry)
    this.siftUp(entry, this.entries.length - 1)
  }

  /** Must be called after `entry.deadline` was changed. */
  update(entry: E): void {
    this.siftUp(entry, entry.heapIndex)
    this.siftDown(entry, entry.heapIndex)
  }

  remove(entry: E): void {
    const hole = entry.heapIndex
    const last = this.entries.pop()
    entry.heapIndex = -1
    if (last === undefined || last === entry) {
      return
    }
    this.place(last, hole)
    this.update(last)
  }

  /** All entries with `deadline <= horizon`, in no particular order; O(number of them). */
  until(horizon: number): E[] {
    const found: E[] = []
    const open = [0]
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      const entry = this.entries[index]
      if (entry === undefined || entry.deadline > horizon) {
        continue
      }
      found.push(entry)
      open.push(2 * index + 1, 2 * index + 2)
    }
    return found
  }

  private siftUp(entry: E, from: number): void {
    let index = from
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.entries[parentIndex]
      if (parent === undefined || parent.deadline <= entry.deadline) {
        break
      }
      this.place(parent, index)
      index = parentIndex
    }
    this.place(entry, index)
  }

  private siftDown(entry: E, from: number): void {
    let index = from
    for (;;) {
      const childIndex = this.earlierChild(index)
      const child = this.entries[childIndex]
      if (child === undefined || child.deadline >= entry.deadline) {
        break
      }
      this.place(child, index)
      index = childIndex
    }
    this.place(entry, index)
  }

  private earlierChild(index: number): number {
    const left = 2 * index + 1
    const leftEntry = this.entries[left]
    const rightEntry = this.entries[left + 1]
    if (leftEntry === undefined || rightEntry === undefined) {
      return left
    }
    return rightEntry.deadline < leftEntry.deadline ? left + 1 : left
  }

  private place(entry: E, index: number): void {
    this.entries[index] = entry
    entry.heapIndex = index
  }
}
