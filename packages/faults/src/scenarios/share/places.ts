import type { Matcher } from '@holdfast/faults/harness'

/** What is sent in a step of a flight. */
export type Step = 'enter' | 'look' | 'subscribe' | 'finish' | 'fetch'

/** Where a process is killed: when a step of its own has lost its request or its reply, or at a moment of the run. */
export type Place =
  | { readonly who: 'runner' | 'waiter'; readonly step: Step; readonly loses: 'request' | 'reply' }
  | {
      readonly who: 'runner'
      readonly at: 'begin' | 'early' | 'middle' | 'late' | 'end'
      readonly alsoNext?: true
    }
  | { readonly who: 'runner'; readonly at: 'middle'; readonly pausedFirst: true }
  | { readonly who: 'waiter'; readonly at: 'waiting' }
  | { readonly who: 'all but one'; readonly at: 'middle' }

/** Twenty. */
export const PLACES: readonly Place[] = [
  { who: 'runner', step: 'enter', loses: 'request' },
  { who: 'runner', step: 'enter', loses: 'reply' },
  { who: 'runner', at: 'begin' },
  { who: 'runner', at: 'early' },
  { who: 'runner', at: 'middle' },
  { who: 'runner', at: 'late' },
  { who: 'runner', at: 'end' },
  { who: 'runner', at: 'begin', alsoNext: true },
  { who: 'runner', at: 'late', alsoNext: true },
  { who: 'runner', at: 'middle', pausedFirst: true },
  { who: 'runner', step: 'finish', loses: 'request' },
  { who: 'runner', step: 'finish', loses: 'reply' },
  { who: 'waiter', step: 'look', loses: 'request' },
  { who: 'waiter', step: 'look', loses: 'reply' },
  { who: 'waiter', step: 'subscribe', loses: 'request' },
  { who: 'waiter', step: 'subscribe', loses: 'reply' },
  { who: 'waiter', at: 'waiting' },
  { who: 'waiter', step: 'fetch', loses: 'request' },
  { who: 'waiter', step: 'fetch', loses: 'reply' },
  { who: 'all but one', at: 'middle' },
]

export const nameOf = (place: Place): string => {
  if ('step' in place) return `${place.who}: ${place.step}, ${place.loses} lost`
  const more =
    'pausedFirst' in place ? ', after a pause' : 'alsoNext' in place ? ', and the next one too' : ''
  return `${place.who}: ${place.at}${more}`
}

/** How far a run is at a moment, as a share of its work. */
export const MOMENTS = { begin: 0, early: 0.25, middle: 0.5, late: 0.75, end: 1 } as const

/** What `finish` alone sends: the lock's channel as an argument of a script. */
const isFinish = (text: string, lock: string): boolean =>
  text.includes(`{${lock}}`) && text.includes(`redisson_lock__channel:{${lock}}`) && !/subscribe/i.test(text)

/** A chunk that a process sends in this step for the lock of a round. */
export const sends = (step: Step, lock: string): Matcher => {
  return (bytes) => {
    const text = bytes.toString('latin1')
    if (!text.includes(lock)) return false
    switch (step) {
      case 'subscribe':
        return /subscribe/i.test(text) && !/unsubscribe/i.test(text)
      case 'finish':
        return isFinish(text, lock)
      case 'fetch':
        return text.includes(`holdfast:result:{${lock}}`) && !isFinish(text, lock)
      case 'enter':
      case 'look':
        return /evalsha/i.test(text) && !isFinish(text, lock)
    }
  }
}
