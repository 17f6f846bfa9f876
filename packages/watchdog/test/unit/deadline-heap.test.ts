import { describe, expect, it } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import { DeadlineHeap, type HeapEntry } from '../../src/deadline-heap.js'

const entry = (deadline: number): HeapEntry => ({ deadline, heapIndex: -1 })
const sorted = (entries: Iterable<HeapEntry>): number[] =>
  [...entries].map((e) => e.deadline).sort((a, b) => a - b)

describe('DeadlineHeap', () => {
  it('an empty heap has no earliest entry and nothing due', () => {
    const heap = new DeadlineHeap()
    expect(heap.peek()).toBeUndefined()
    expect(heap.until(Infinity)).toEqual([])
    expect(heap.size).toBe(0)
  })

  it('the last entry can leave, and come back', () => {
    const heap = new DeadlineHeap<HeapEntry>()
    const only = entry(5)
    heap.push(only)
    heap.remove(only)
    expect(only.heapIndex).toBe(-1)
    expect(heap.peek()).toBeUndefined()
    heap.push(only)
    expect(heap.peek()).toBe(only)
  })

  it('an entry that replaces a removed one may have to move up, not only down', () => {
    const heap = new DeadlineHeap<HeapEntry>()
    // 10 and its children are late, 2 and its children early: the last of them takes the place of 12.
    const entries = [1, 10, 2, 11, 12, 3, 4, 13, 14, 15, 16, 5].map(entry)
    for (const e of entries) heap.push(e)
    heap.remove(entries[4]!)
    heap.remove(entries[7]!)
    expectOrdered(heap, entries.length - 2)
  })

  it.each([1, 2, 3, 4, 5])('stays ordered and indexed under any mix of changes (seed %i)', (seed) => {
    const random = seededRandom(seed).next
    const heap = new DeadlineHeap<HeapEntry>()
    const alive = new Set<HeapEntry>()
    const pick = (): HeapEntry | undefined => [...alive][Math.floor(random() * alive.size)]
    for (let step = 0; step < 800; step += 1) {
      const chosen = pick()
      const action = random()
      if (chosen === undefined || action < 0.45) {
        const added = entry(Math.floor(random() * 100))
        heap.push(added)
        alive.add(added)
      } else if (action < 0.75) {
        heap.remove(chosen)
        alive.delete(chosen)
      } else {
        chosen.deadline = Math.floor(random() * 100)
        heap.update(chosen)
      }
      expect(heap.peek()?.deadline).toBe(sorted(alive)[0])
    }
    const horizon = random() * 100
    expect(sorted(heap.until(horizon))).toEqual(sorted(alive).filter((deadline) => deadline <= horizon))
    expectOrdered(heap, alive.size)
  })
})

/** Empties the heap. */
function expectOrdered(heap: DeadlineHeap<HeapEntry>, size: number): void {
  expect(heap.size).toBe(size)
  const order: number[] = []
  for (let first = heap.peek(); first !== undefined; first = heap.peek()) {
    order.push(first.deadline)
    heap.remove(first)
  }
  expect(order).toHaveLength(size)
  expect(order).toEqual([...order].sort((a, b) => a - b))
}
