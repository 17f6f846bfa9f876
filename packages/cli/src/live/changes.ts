import type { SeenLock } from '@holdfast/core/observe'
import { shownLock, type ShownHolder } from '../locks/shown-lock.js'

/** Changes of a lock between two looks. Durations in milliseconds. */
export type Change =
  | {
      readonly event: 'held'
      readonly holder: ShownHolder
      readonly token: string | null
      readonly missed: number
    }
  | {
      readonly event: 'handed-over'
      readonly from: ShownHolder
      readonly holder: ShownHolder
      /** For as long as somebody has looked on. */
      readonly heldMs: number
      readonly token: string | null
      /** Acquisitions that began and ended between the two looks, where tokens tell. */
      readonly missed: number
    }
  | { readonly event: 'joined' | 'left'; readonly holder: ShownHolder }
  | { readonly event: 'freed'; readonly from: ShownHolder; readonly heldMs: number; readonly missed: number }
  | { readonly event: 'waits' | 'waits-no-more'; readonly waiter: string }

/** Compares what was seen of one lock with what was seen before. */
export class LockChanges {
  private before: {
    readonly holders: ReadonlyMap<string, ShownHolder>
    readonly waiters: ReadonlySet<string>
  } = {
    holders: new Map(),
    waiters: new Set(),
  }
  private token: bigint | undefined
  private readonly since = new Map<string, number>()

  /** @param at monotonic ms */
  take(lock: SeenLock | undefined, at: number): Change[] {
    const shown = lock && shownLock(lock)
    const holders = new Map((shown?.holders ?? []).map((each) => [each.holder, each]))
    const waiters = new Set((shown?.waiters ?? []).map(({ owner }) => owner))
    const { before } = this
    this.before = { holders, waiters }
    const come = [...holders.values()].filter(({ holder }) => !before.holders.has(holder))
    const gone = [...before.holders.values()].filter(({ holder }) => !holders.has(holder))
    const token = shown?.token ?? null
    const missed = this.missedUntil(token, come.length)
    const changes = [
      ...changesOfHolders({ come, gone, stay: holders.size - come.length, token, missed }, (each) =>
        this.heldMs(each, at),
      ),
      ...changesOfWaiters(before.waiters, waiters, holders),
    ]
    gone.forEach(({ holder }) => this.since.delete(holder))
    come.forEach(({ holder, heldMs }) => this.since.set(holder, at - (heldMs ?? 0)))
    return changes
  }

  private heldMs({ holder }: ShownHolder, at: number): number {
    return Math.round(at - (this.since.get(holder) ?? at))
  }

  /** Each acquisition of a fenced lock counts one. */
  private missedUntil(text: string | null, seen: number): number {
    const token = text !== null && /^\d+$/.test(text) ? BigInt(text) : undefined
    const { token: last } = this
    this.token = token ?? last
    return token === undefined || last === undefined ? 0 : Math.max(0, Number(token - last) - seen)
  }
}

interface Turn {
  readonly come: readonly ShownHolder[]
  readonly gone: readonly ShownHolder[]
  /** Readers that were there and are. */
  readonly stay: number
  readonly token: string | null
  readonly missed: number
}

function changesOfHolders(
  { come, gone, stay, token, missed }: Turn,
  heldMs: (each: ShownHolder) => number,
): Change[] {
  const [holder, ...more] = come
  const [from, ...others] = gone
  if (stay > 0 || more.length > 0 || others.length > 0) {
    return [
      ...gone.map((each): Change => ({ event: 'left', holder: each })),
      ...come.map((each): Change => ({ event: 'joined', holder: each })),
    ]
  }
  if (from && holder) {
    return [{ event: 'handed-over', from, holder, heldMs: heldMs(from), token, missed }]
  }
  if (holder) {
    return [{ event: 'held', holder, token, missed }]
  }
  return from ? [{ event: 'freed', from, heldMs: heldMs(from), missed }] : []
}

function changesOfWaiters(
  before: ReadonlySet<string>,
  now: ReadonlySet<string>,
  holders: ReadonlyMap<string, ShownHolder>,
): Change[] {
  const come = [...now].filter((waiter) => !before.has(waiter))
  // Whoever holds the lock now waits no more: its turn is told already.
  const gone = [...before].filter((waiter) => !now.has(waiter) && !holders.has(waiter))
  return [
    ...come.map((waiter): Change => ({ event: 'waits', waiter })),
    ...gone.map((waiter): Change => ({ event: 'waits-no-more', waiter })),
  ]
}
