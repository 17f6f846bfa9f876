import { describe, expect, it } from '@jest/globals'
import { has, setting } from './support/setting.js'
import { keysLeft, useSides } from './support/sides.js'

const sides = useSides()

// Both sides decide what a name becomes in Redis, each by its own code.
const NAMES = ['plain', 'with {braces} inside', '{tag}:42', 'a}b{c', 'ümläut ∑ 🔒', 'a b\tc']
const KINDS = ['lock', 'fair', 'write', 'fenced'] as const
const PREFIXES = setting.prefix === undefined ? [undefined, 'service:'] : [setting.prefix]

describe('names', () => {
  it.each(PREFIXES)('are the same lock on both sides, with the prefix %s', async (prefix) => {
    const options = prefix === undefined ? {} : { prefix }
    const [java, node] = await Promise.all([sides.launch('java', options), sides.launch('node', options)])
    for (const kind of KINDS.filter((each) => has(each, prefix))) {
      for (const name of NAMES) {
        for (const [holder, waiter] of [
          [java, node],
          [node, java],
        ] as const) {
          await holder.call('h', 'lock', kind, name)
          expect(await waiter.call('w', 'tryLock', kind, name)).toMatchObject({ value: false })
          // By message: the lease is 30 s, and the resync of a waiter a second.
          const waiting = waiter.call('w', 'lock', kind, name)
          await waiter.call('other', 'isLocked', kind, name)
          await holder.call('h', 'unlock', kind, name)
          const { from, to } = await waiting
          if (to - from > 100) console.log(kind, name, holder.language, to - from)
          await waiter.call('w', 'unlock', kind, name)
        }
      }
    }
    expect(await keysLeft(sides.redis)).toEqual([])
  })
})
