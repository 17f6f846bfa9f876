import { channel } from 'node:diagnostics_channel'
import { LOCK_CHANNELS, type ObservedCall, type ObservedHold, type ObservedRenewal } from '@holdfast/core'
import { Telemetry } from '../../redis/support/telemetry.js'

const what = { lockName: 'order:42', kind: 'reentrant', clientId: 'c' } as const
const call: ObservedCall = {
  ...{ ...what, phase: 'begun', hasWaited: false, holder: undefined, outcome: undefined, path: undefined },
  ...{ waitedMs: undefined, handOffMs: undefined, error: undefined },
}
const hold: ObservedHold = {
  ...{ ...what, phase: 'begun', owner: 'c:1', serial: 1 },
  ...{ outcome: undefined, reason: undefined, heldMs: undefined },
}

/** An SDK that has been told everything there is to tell, as core publishes it. */
export function everyMetric(): Telemetry {
  const telemetry = new Telemetry({ spans: 'off' })
  const ends: Partial<ObservedCall>[] = [
    { outcome: 'acquired', path: 'remote', waitedMs: 3, handOffMs: 1 },
    { outcome: 'acquired', path: 'reentrant', waitedMs: 1 },
    { outcome: 'timeout', waitedMs: 9 },
    { outcome: 'aborted', waitedMs: 9, error: new Error('enough') },
    { outcome: 'error', waitedMs: 9, error: Object.assign(new Error('no'), { code: 'WRONG_TYPE' }) },
  ]
  for (const ended of ends) {
    const one = { ...call }
    channel(LOCK_CHANNELS.callBegun).publish(one)
    channel(LOCK_CHANNELS.callParked).publish(Object.assign(one, { phase: 'parked', hasWaited: true }))
    channel(LOCK_CHANNELS.callEnded).publish(Object.assign(one, { phase: 'ended' }, ended))
  }
  const lost = { ...hold }
  channel(LOCK_CHANNELS.holdBegun).publish(lost)
  const end = { phase: 'ended', outcome: 'lost', reason: 'expired', heldMs: 5 }
  channel(LOCK_CHANNELS.holdEnded).publish(Object.assign(lost, end))
  const renewal: ObservedRenewal = { ...what, owner: 'c:1', outcome: 'renewed', marginMs: 19_000 }
  channel(LOCK_CHANNELS.renewal).publish(renewal)
  return telemetry
}
