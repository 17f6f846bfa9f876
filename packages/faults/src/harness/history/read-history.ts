import {
  type AcquireBegin,
  type AttemptEnd,
  type End,
  type FaultBegin,
  type Healed,
  HistoryError,
  type HistoryEvent,
  type Killed,
} from './events.js'
import { FaultLog, pairFaults } from './fault-log.js'
import type { Hold } from './hold.js'
import { type Attempt, LockHistory } from './lock-history.js'

/** A history in the shape the checks need. */
export interface History {
  readonly locks: readonly LockHistory[]
  readonly faults: FaultLog
  readonly ends: readonly End[]
  readonly counts: { readonly acquisitions: number; readonly losses: number; readonly faults: number }
}

class HistoryReader {
  readonly locks = new Map<string, LockHistory>()
  readonly faultEvents: (FaultBegin | Healed)[] = []
  readonly ends: End[] = []
  readonly counts = { acquisitions: 0, losses: 0 }
  readonly #openAttempts = new Map<string, Attempt>()
  /** By process, which may die with them. */
  readonly #holds = new Map<string, Hold[]>()

  read(event: HistoryEvent): void {
    switch (event.kind) {
      case 'acquire-begin': {
        this.#begin(event)
        return
      }
      case 'acquired':
      case 'refused':
      case 'aborted':
      case 'failed': {
        this.#end(event)
        return
      }
      case 'trusted':
        return this.#lock(event.lock).latestHold(event.owner)?.trust(event)
      case 'lost': {
        this.counts.losses += 1
        this.#lock(event.lock).lose(event)
        return
      }
      case 'release-begin':
        return this.#lock(event.lock).latestHold(event.owner)?.beginRelease(event)
      case 'released': {
        this.#lock(event.lock).released(event)
        return
      }
      case 'write':
        return void this.#lock(event.lock).writes.push(event)
      case 'result':
        return void this.#lock(event.lock).results.push(event)
      case 'followed':
        return void this.#lock(event.lock).followed.push(event)
      case 'astray':
        return void this.#lock(event.lock).astray.push(event)
      case 'fault':
      case 'healed':
        return void this.faultEvents.push(event)
      case 'killed': {
        this.#kill(event)
        return
      }
      case 'end':
        return void this.ends.push(event)
    }
  }

  #lock(name: string): LockHistory {
    const lock = this.locks.get(name) ?? new LockHistory(name)
    this.locks.set(name, lock)
    return lock
  }

  #begin(event: AcquireBegin): void {
    const key = attemptKey(event)
    if (this.#openAttempts.has(key)) throw new HistoryError('This attempt has begun and not ended', event)
    const attempt: Attempt = { begin: event, end: undefined }
    this.#openAttempts.set(key, attempt)
    this.#lock(event.lock).attempts.push(attempt)
  }

  #end(event: AttemptEnd): void {
    const key = attemptKey(event)
    const attempt = this.#openAttempts.get(key)
    if (attempt === undefined) throw new HistoryError('No attempt of that name is under way', event)
    if (attempt.begin.lock !== event.lock) throw new HistoryError('The attempt is for another lock', event)
    this.#openAttempts.delete(key)
    attempt.end = event
    if (event.kind === 'failed') this.#lock(event.lock).fail(attempt, event)
    if (event.kind !== 'acquired') return
    this.counts.acquisitions += 1
    const hold = this.#lock(event.lock).grant(attempt.begin, event)
    const holds = this.#holds.get(event.process)
    if (holds === undefined) this.#holds.set(event.process, [hold])
    else if (hold !== holds.at(-1)) holds.push(hold)
  }

  #kill(event: Killed): void {
    for (const [key, attempt] of this.#openAttempts) {
      if (attempt.begin.process !== event.process) continue
      attempt.end = event
      this.#openAttempts.delete(key)
    }
    for (const hold of this.#holds.get(event.process) ?? []) hold.die(event)
    this.#holds.delete(event.process)
  }
}

const attemptKey = ({ process, attempt }: AcquireBegin | AttemptEnd): string =>
  JSON.stringify([process, attempt])

// Every comparison with NaN is false: such a belief would seem endless, and such a call never late.
const checkTimes = (event: HistoryEvent): void => {
  if (!Number.isFinite(event.atMs)) throw new HistoryError('atMs is not a finite number', event)
  if (Number.isNaN(otherTime(event))) throw new HistoryError('A time is not a number', event)
}

const otherTime = (event: HistoryEvent): number | undefined => {
  if (event.kind === 'acquired') return event.trustedUntilMs
  return event.kind === 'trusted'
    ? event.untilMs
    : event.kind === 'acquire-begin'
      ? event.deadlineMs
      : undefined
}

/** @throws HistoryError when the events contradict each other */
export const readHistory = (events: readonly HistoryEvent[]): History => {
  for (const event of events) checkTimes(event)
  // The files of several processes are merged here. The sort is stable: at one instant, the given order counts.
  const ordered = [...events].sort((a, b) => a.atMs - b.atMs)
  const reader = new HistoryReader()
  for (const event of ordered) reader.read(event)
  const faults = reader.faultEvents.filter(({ kind }) => kind === 'fault').length
  return {
    locks: [...reader.locks.values()],
    faults: new FaultLog(pairFaults(reader.faultEvents)),
    ends: reader.ends,
    counts: { ...reader.counts, faults },
  }
}
