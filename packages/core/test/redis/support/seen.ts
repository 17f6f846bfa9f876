import { afterEach, beforeEach } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  LOCK_CHANNELS,
  type ObservedCall,
  type ObservedHold,
  type ObservedRenewal,
} from '../../../src/index.js'

/** The messages while a test runs: each message as it was then, and the objects they are. */
export class Seen {
  calls: ObservedCall[] = []
  holds: ObservedHold[] = []
  renewals: ObservedRenewal[] = []
  objects = new Set<object>()

  readonly onCall = (message: unknown): void => this.note(this.calls, message)
  readonly onHold = (message: unknown): void => this.note(this.holds, message)
  readonly onRenewal = (message: unknown): void => this.note(this.renewals, message)

  get ended(): ObservedCall[] {
    return this.calls.filter(({ phase }) => phase === 'ended')
  }

  clear(): void {
    this.calls = []
    this.holds = []
    this.renewals = []
    this.objects.clear()
  }

  private note(list: object[], message: unknown): void {
    list.push({ ...(message as object) })
    this.objects.add(message as object)
  }
}

/** To be called in a describe block. */
export function useSeen(): Seen {
  const seen = new Seen()
  const { callBegun, callParked, callEnded, holdBegun, holdEnded, renewal } = LOCK_CHANNELS
  const listeners = [
    ...[callBegun, callParked, callEnded].map((channel) => [channel, seen.onCall] as const),
    ...[holdBegun, holdEnded].map((channel) => [channel, seen.onHold] as const),
    [renewal, seen.onRenewal] as const,
  ]
  beforeEach(() => {
    seen.clear()
    listeners.forEach(([channel, listener]) => subscribe(channel, listener))
  })
  afterEach(() => listeners.forEach(([channel, listener]) => unsubscribe(channel, listener)))
  return seen
}
