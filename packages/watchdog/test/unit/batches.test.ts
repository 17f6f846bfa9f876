import { describe, expect, it } from '@jest/globals'
import { batches } from '../../src/batches.js'

describe('batches', () => {
  it('no chunk is larger than the size, and the order is kept', () => {
    expect(batches([1, 2, 3, 4, 5], 2, () => undefined)).toEqual([[1, 2], [3, 4], [5]])
  })

  it('items with different keys never share a chunk', () => {
    expect(batches(['a1', 'b1', 'a2', 'b2', 'a3'], 2, (item) => item[0])).toEqual([
      ['a1', 'a2'],
      ['b1', 'b2'],
      ['a3'],
    ])
  })

  it('nothing makes no chunk', () => {
    expect(batches([], 2, () => 0)).toEqual([])
  })
})
