import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { ProcessKeeper } from '../../src/client/process-keeper.js'

describe('the keeper of a process', () => {
  const setUp = () => {
    const clock = new ManualClock()
    const client = { rests: false, looks: 0 }
    const keeper = new ProcessKeeper(clock, () => {
      client.looks += 1
      return client.rests
    })
    return { clock, client, keeper }
  }

  it('has a timer from the first command until the client rests, and again from the next', async () => {
    const { clock, client, keeper } = setUp()
    expect(clock.pendingTimers).toBe(0)
    keeper.begin()
    keeper.begin()
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(60_000)
    expect(clock.pendingTimers).toBe(1)
    // Once a second, while a lock is held for long.
    expect(client.looks).toBeLessThan(70)
    client.rests = true
    await clock.advance(1_000)
    expect(clock.pendingTimers).toBe(0)
    keeper.begin()
    expect(clock.pendingTimers).toBe(1)
  })

  it('keeps it while the client is closing, and never after', async () => {
    const { clock, client, keeper } = setUp()
    client.rests = true
    keeper.closing()
    await clock.advance(10_000)
    expect(clock.pendingTimers).toBe(1)
    keeper.close()
    keeper.begin()
    expect(clock.pendingTimers).toBe(0)
  })
})
