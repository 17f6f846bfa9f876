import { describe, expect, it } from '@jest/globals'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { LOCK_CHANNELS } from '@holdfast/core'
import { Telemetry } from '../redis/support/telemetry.js'

const ended = { phase: 'ended', lockName: 'a', kind: 'reentrant', hasWaited: false, outcome: 'timeout' }
const acquisitions = 'holdfast_lock_acquisitions_total'

describe('listeners', () => {
  it('hear nothing more when another listener disables them in the middle of a message', async () => {
    const made: Telemetry[] = []
    const disable = (): void => made[0]?.instrumentation.disable()
    // Before the other, so that it is told first.
    subscribe(LOCK_CHANNELS.callEnded, disable)
    const telemetry = new Telemetry()
    made.push(telemetry)
    channel(LOCK_CHANNELS.callEnded).publish(ended)
    unsubscribe(LOCK_CHANNELS.callEnded, disable)
    telemetry.instrumentation.enable()
    expect(await telemetry.sum(acquisitions)).toBe(0)
    channel(LOCK_CHANNELS.callEnded).publish(ended)
    expect(await telemetry.sum(acquisitions)).toBe(1)
    await telemetry.stop()
  })

  it('count one name for each of its kinds, in turns', async () => {
    const telemetry = new Telemetry({ metrics: 'producer' })
    for (const kind of ['read', 'write', 'read', 'read', 'write']) {
      channel(LOCK_CHANNELS.callEnded).publish({ ...ended, kind })
    }
    expect(await telemetry.sum(acquisitions, { kind: 'read' })).toBe(3)
    expect(await telemetry.sum(acquisitions, { kind: 'write' })).toBe(2)
    await telemetry.stop()
  })
})
