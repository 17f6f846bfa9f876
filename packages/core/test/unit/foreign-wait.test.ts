import { describe, expect, it } from '@jest/globals'
import { ForeignWait } from '../../src/acquire/foreign-wait.js'
import { WrongTypeError } from '../../src/errors.js'
import type { LockProtocol } from '../../src/kinds/lock-protocol.js'
import { pauseBehindForeign } from '../../src/kinds/foreign-looks.js'
import type { ForeignLook } from '../../src/scripts/foreign-lock.js'
import type { AcquireServices } from '../../src/acquire/services.js'

const REFUSAL = new WrongTypeError('name', 'name', new Error('WRONGTYPE'))
const GONE: ForeignLook = { kind: 'gone' }
const STRING: ForeignLook = { kind: 'string', ttlMs: 100, value: 'x' }

/** A wait whose looks find these, one after another, and what its caller does. */
function waitWith(looks: readonly ForeignLook[], { hasLeft = false } = {}) {
  const left = [...looks]
  const done: string[] = []
  const foreignLooks = { at: () => Promise.resolve(left.shift() ?? GONE) }
  const wait = new ForeignWait({ foreignLooks } as unknown as AcquireServices, {} as LockProtocol, {
    hasLeft,
    tryInRedis: () => {
      done.push('try')
      return Promise.resolve({ kind: 'done', value: true })
    },
    onReply: ({ holder }) => {
      done.push(holder)
      return { kind: 'refused' }
    },
  })
  return { wait, done }
}

describe('a wait behind a string', () => {
  it('tries again at once where the string is gone', async () => {
    const { wait } = waitWith([GONE])
    expect(await wait.afterRefusal(REFUSAL)).toEqual({ kind: 'refused', retryAfterMs: 0 })
    expect(wait.lookThenTry()).toBeNull()
  })

  it('looks before it tries while the string is there', async () => {
    const { wait, done } = waitWith([STRING, STRING, GONE])
    await wait.afterRefusal(REFUSAL)
    await wait.lookThenTry()
    await wait.lookThenTry()
    expect(done).toEqual(['x', 'x', 'try'])
    expect(wait.lookThenTry()).toBeNull()
  })

  it('tries for nobody whose caller has left during the look', async () => {
    const { wait, done } = waitWith([STRING, GONE], { hasLeft: true })
    await wait.afterRefusal(REFUSAL)
    expect(await wait.lookThenTry()).toEqual({ kind: 'refused' })
    expect(done).toEqual(['x'])
  })

  it('ends where refusals go on and no look finds a string: another key of the lock is meant', async () => {
    const { wait } = waitWith([STRING])
    await wait.afterRefusal(REFUSAL)
    for (let i = 1; i < 20; i += 1) {
      await wait.afterRefusal(REFUSAL)
    }
    await expect(wait.afterRefusal(REFUSAL)).rejects.toBe(REFUSAL)
  })

  it('ends where something else is there', async () => {
    await expect(waitWith([{ kind: 'another-type' }]).wait.afterRefusal(REFUSAL)).rejects.toBe(REFUSAL)
  })
})

it('pauses grow from 5 ms to 50 ms', () => {
  expect([0, 3, 5, 10, 20, 40, 80, 30_000].map(pauseBehindForeign)).toEqual([5, 5, 5, 10, 20, 40, 50, 50])
})
