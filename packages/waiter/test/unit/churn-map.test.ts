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

  it('has what it has, however often it is swept', () => {
    const map = new ChurnMap<number, { of: number }>()
    for (let i = 0; i < 1_000; i += 1) {
      map.set(i, { of: i })
      if (i >= 10) expect(map.delete(i - 10)).toBe(true)
    }
    expect(map.size).toBe(10)
    expect(map.all.map(({ of }) => of)).toEqual([990, 991, 992, 993, 994, 995, 996, 997, 998, 999])
    expect([map.has(989), map.get(989), map.get(999)]).toEqual([false, undefined, { of: 999 }])
  })

  it('keeps the place of a key that went, and has it again', () => {
    const map = new ChurnMap<string, { of: number }>()
    map.set('a', { of: 1 })
    map.delete('a')
    expect([map.size, map.has('a'), map.all]).toEqual([0, false, []])
    map.set('a', { of: 2 })
    expect([map.size, map.get('a'), map.all]).toEqual([1, { of: 2 }, [{ of: 2 }]])
  })

  it('forgets the names of those that do not come back', () => {
    const map = new ChurnMap<string, object>()
    for (let i = 0; i < 1_000; i += 1) {
      map.set(`${i}`, {})
      map.delete(`${i}`)
    }
    expect((map as unknown as { entries: Map<string, unknown> }).entries.size).toBeLessThan(40)
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
