// What the server tells the page, as JSON: both have the types from here. All times are ms of the server's wall clock.

export interface Holder {
  readonly owner: string
  /** Name of its client, or '' where the owner is not in Holdfast's form. */
  readonly client: string
  readonly holds: number
  readonly since: number
  /** False: it has held the lock for longer, as long as the board knows. */
  readonly isSinceExact: boolean
}

export interface Waiter {
  readonly owner: string
  readonly client: string
  readonly since: number | null
}

/** One held lock on the board. */
export interface LockRow {
  /** A number that stands for the name in messages to pages. */
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly mode: '' | 'read' | 'write'
  readonly holders: readonly Holder[]
  /** How many wait: the larger of what Redis knows and what clients report. */
  readonly waiting: number
  /** The first in the queue of Redis. */
  readonly waiters: readonly Waiter[]
  readonly longestWaitSince: number | null
  /** How often the first waiter was seen to be overtaken, if that is more often than there are waiters; else 0. */
  readonly overtaken: number
  readonly token: string
  /** A lock that only its own library may release, or one on its way between two processes. */
  readonly isUnbreakable: boolean
  readonly leaseEndsAt: number | null
  readonly seenAt: number
}

type WireHolder = [owner: string, client: string, holds: number, since: number, isSinceExact: number]
type WireWaiter = [owner: string, client: string, since: number | null]

/** A row as a list, because there are ten thousand of them. */
export type WireRow = [
  ...[id: number, name: string, kind: string, mode: LockRow['mode'], holders: WireHolder[]],
  ...[waiting: number, waiters: WireWaiter[], longestWaitSince: number | null],
  ...[token: string, isUnbreakable: number, leaseEndsAt: number | null, seenAt: number, overtaken: number],
]

/** The table as a whole. */
export interface BoardState {
  readonly now: number
  readonly locks: number
  /** There are more than the board keeps. */
  readonly isFull: boolean
  /** Clients that report, and the calls that wait in them. */
  readonly clients: number
  readonly waiting: number
  readonly passes: number
  readonly keysInPass: number
  readonly passBeganAt: number
  readonly trouble: string
}

/** Somebody held the lock. */
export interface Segment {
  readonly owner: string
  /** Its client: one lane of the picture. */
  readonly lane: string
  readonly kind: string
  readonly from: number
  /** Null: it holds the lock. */
  readonly to: number | null
  /** How it ended: '' while it holds the lock; `gone` where the board only saw that it was over. */
  readonly end: '' | 'released' | 'lost' | 'gone'
  readonly reason: string
}

/** A call that waited, as its client told. */
export interface Wait {
  readonly lane: string
  readonly from: number
  readonly to: number | null
}

/** All that is told of one lock. */
export interface LockState {
  readonly name: string
  readonly row: WireRow | null
  readonly reporting: readonly string[]
  readonly segments: readonly Segment[]
  readonly waits: readonly Wait[]
  readonly losses: readonly { readonly clientId: string; readonly owner: string; readonly reason: string }[]
  readonly keys: readonly { readonly key: string; readonly type: string; readonly endsAt: number | null }[]
  readonly trouble: string
}
