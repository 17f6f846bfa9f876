import { describe, expect, it } from '@jest/globals'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ChurnMap } from '../../src/index.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void

const oldMb = (): number => {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')
  return old!.space_used_size / 2 ** 20
}

describe('ChurnMap', () => {
  it('is a map', () => {
    const map = new ChurnMap<string, { of: number }>()
    map.set('a', { of: 1 })
    map.set('b', { of: 2 })
    map.set('a', { of: 3 })
    expect([map.size, map.get('a'), map.has('b'), map.get('c'), map.has('c')]).toEqual([
      ...[2, { of: 3 }, true, undefined, false],
    ])
    expect([map.delete('b'), map.delete('b'), map.size]).toEqual([true, false, 1])
    expect(map.all).toEqual([{ of: 3 }])
  })

  it('lets go of what has gone, without a full collection', () => {
    const map = new ChurnMap<string, object>()
    collect()
    const before = oldMb()
    // 16 MB come and go, a hundredth at a time.
    for (let i = 0; i < 20_000; i += 1) {
      map.set(`${i}`, { kept: new Array(100).fill(i) })
      map.delete(`${i - 100}`)
      if (i % 1_000 === 0) collect({ type: 'minor' })
    }
    expect(map.size).toBe(100)
    // A Map of the same things: 11.
    expect(oldMb() - before).toBeLessThan(5)
  })
})
