import { describe, expect, it } from '@jest/globals'
import { batches, topUp } from '../../src/batches.js'

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

describe('topUp', () => {
  const keyOf = (item: string) => item[0]

  it('fills what has room, with items of the same key', () => {
    const chunks = [['a1', 'a2'], ['a3'], ['b1']]
    topUp(chunks, ['b2', 'a4', 'b3', 'c1', 'a5'], 2, keyOf)
    expect(chunks).toEqual([
      ['a1', 'a2'],
      ['a3', 'a4'],
      ['b1', 'b2'],
    ])
  })

  it('leaves full chunks alone', () => {
    const chunks = [['a1', 'a2']]
    topUp(chunks, ['a3'], 2, keyOf)
    expect(chunks).toEqual([['a1', 'a2']])
  })
})
