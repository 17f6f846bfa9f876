import type { Waiter } from '@holdfast/waiter'
import type { RejoinBatcher } from '../pass/rejoin-batch.js'
import type { GrantReceiver } from '../pass/grants.js'
import { RedissonWakeUpChannel } from './redisson-wake-up.js'
import { pauseBehindForeign } from './foreign-looks.js'
import { localName } from '../keys.js'
import { LivenessWindows } from '../pass/liveness.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { LastSeenHolders } from '../diagnostics/last-holders.js'
import {
  heartbeat,
  withdraw,
  type FairHeldReply,
  type HeartbeatReply,
  type FairLine,
  type LivenessWindow,
  type SignOfLife,
} from '../scripts/fair-lock.js'
import { SoonestTimer } from '../runtime/soonest-timer.js'
import type { Runtime } from '../runtime/runtime.js'

export const NOT_IN_LINE = '0'

/** One waiter, from before the try that enqueues it until it holds the lock or gives up. */
export interface FairWait {
  readonly owner: string
  /** Its arrival number; NOT_IN_LINE until Redis has assigned one. */
  arrival: string
  /** The liveness window of its client in which Redis last reported it queued; '' before. */
  aliveSince: string
  /** Whether it waits for the string of another library. */
  readonly waitsForForeign: boolean
  /** Unsubscribes from its Redisson turn channel; null while no Java client is in sight. */
  stopListening: (() => void) | null
}

interface LockWaiters {
  readonly line: FairLine
  readonly waits: Map<string, FairWait>
  readonly liveness: LivenessWindows
  /** The next heartbeat behind a string lock of another library. */
  look: { cancel(): void } | null
}

export interface FairQueueParts {
  readonly clientId: string
  /** See `SignOfLife`. */
  readonly nonce: string
  readonly runner: ScriptRunner
  readonly waiter: Waiter
  readonly lastHolders: LastSeenHolders
  readonly runtime: Runtime
  /** A client counts as dead two of these after its last heartbeat. */
  readonly heartbeatMs: number
  /** Whether a granted lock is used without asking Redis first. */
  readonly takesGrants: boolean
  /** Null when waiters directly behind each other do not hand the lock over locally. */
  readonly rejoins: RejoinBatcher | null
  readonly grantReceiver: GrantReceiver
}

/** The local queue of one owner, with that caller only: Redis keeps the order of a fair lock. */
export function fairQueue(owner: string): string {
  return localName('fair', owner)
}

/**
 * This client's waiters in the queues of fair locks. They sleep until it is their turn. One heartbeat per lock renews
 * the liveness of all of them and detects what no message reported: a lost message, an expired lease, a dead head.
 */
export class FairQueue {
  private readonly lines = new Map<string, LockWaiters>()
  private readonly lineOf = new Map<string, LockWaiters>()
  private readonly javaTurns: RedissonWakeUpChannel
  private readonly timer: SoonestTimer
  /** How long the latest reply took, ms. */
  private roundTripMs = 0

  constructor(private readonly parts: FairQueueParts) {
    this.javaTurns = new RedissonWakeUpChannel(parts.waiter.topics, (owner) => this.wake(owner))
    this.timer = new SoonestTimer(parts.runtime, () => void this.beat())
  }

  /** The client's liveness, sent with every command of a fair lock. */
  get alive(): SignOfLife {
    const { clientId, nonce, takesGrants, rejoins, grantReceiver, runner } = this.parts
    const { aliveForMs } = this
    // A grant that arrives later would have expired before its use, and its waiter would have lost its place.
    const isInTime = this.roundTripMs <= aliveForMs / 8
    return {
      clientId,
      nonce,
      aliveForMs,
      // On a cluster the client may be subscribed at any node, so a script cannot count it.
      hears: grantReceiver.isSubscribed && runner.slotOf(clientId) === undefined,
      takesGrants: takesGrants && isInTime,
      passesOn: rejoins !== null,
    }
  }

  /** How long a heartbeat keeps this client alive, ms. */
  private get aliveForMs(): number {
    return Math.ceil(2 * this.parts.heartbeatMs)
  }

  /** Number of this client's waiters for the lock. */
  countAt(lockKey: string): number {
    return this.lines.get(lockKey)?.waits.size ?? 0
  }

  get rejoins(): RejoinBatcher | null {
    return this.parts.rejoins
  }

  /** Called before the try that enqueues the waiter: its turn may be announced before the reply arrives. */
  enter(line: FairLine, owner: string): FairWait {
    const lockKey = keyOf(line)
    const here = this.lines.get(lockKey) ?? newLine(line, this.aliveForMs)
    this.lines.set(lockKey, here)
    this.timer.within(this.parts.heartbeatMs)
    return here.waits.get(owner) ?? this.begin(here, owner, line.waitsForForeign)
  }

  private begin(here: LockWaiters, owner: string, waitsForForeign: boolean): FairWait {
    const wait = { owner, arrival: NOT_IN_LINE, aliveSince: '', stopListening: null, waitsForForeign }
    here.waits.set(owner, wait)
    this.lineOf.set(owner, here)
    const { liveness } = here
    const { grantReceiver, nonce } = this.parts
    grantReceiver.expect(owner, {
      queue: fairQueue(owner),
      liveness,
      nonce,
      onTaken: () => this.leave(owner),
    })
    return wait
  }

  /** Redis has enqueued the waiter. */
  stands(owner: string, reply: FairHeldReply, sentAt: number): void {
    const here = this.lineOf.get(owner)
    const wait = here?.waits.get(owner)
    if (here && wait) {
      const { line, liveness } = here
      this.noteLiveness(liveness, reply.life, sentAt)
      wait.arrival = reply.arrival
      wait.aliveSince = reply.life.since
      this.watch(line, [wait], reply)
      if (reply.isForeign && reply.place === 1) {
        this.lookSoon(here)
      }
    }
  }

  /** The waiter holds the lock, or has given up. */
  leave(owner: string): void {
    const here = this.lineOf.get(owner)
    const wait = here?.waits.get(owner)
    if (!here || !wait) {
      return
    }
    here.waits.delete(owner)
    this.lineOf.delete(owner)
    this.parts.grantReceiver.forget(owner)
    wait.stopListening?.()
    if (here.waits.size === 0) {
      here.look?.cancel()
      this.lines.delete(keyOf(here.line))
      this.forgetHolderSoon(keyOf(here.line))
    }
    if (this.lines.size === 0) {
      this.timer.cancel()
    }
  }

  /** Deferred, because the caller may be about to report the holder in the error that ends its wait. */
  private forgetHolderSoon(lockKey: string): void {
    const { lastHolders } = this.parts
    if (lastHolders.byKey.has(lockKey)) {
      this.parts.runtime.afterTurn(() => {
        if (!this.lines.has(lockKey)) {
          lastHolders.forget(lockKey)
        }
      })
    }
  }

  /** A message says that it is the owner's turn: it tries. Late and duplicate messages do no harm. */
  wake(owner: string): void {
    this.parts.waiter.wake(fairQueue(owner))
  }

  /** Messages may have been missed: every waiter tries. */
  wakeEverybody(): void {
    this.lines.forEach(({ waits }) => this.wakeAll(waits))
  }

  private async beat(): Promise<void> {
    if (this.lines.size > 0) {
      // Set before the replies: the round trip must not lengthen the interval.
      this.timer.within(this.parts.heartbeatMs)
    }
    await Promise.all([...this.lines.values()].map((each) => this.ask(each, true)))
  }

  /** @param isBeat one of those at regular intervals */
  private async ask(here: LockWaiters, isBeat: boolean): Promise<void> {
    const { line, waits, liveness } = here
    const { runner, runtime } = this.parts
    const sentAt = runtime.now()
    try {
      const reply = await heartbeat(runner, { line, alive: this.alive })
      if (waits.size === 0) {
        return
      }
      this.noteLiveness(liveness, reply.life, sentAt)
      this.parts.lastHolders.note(keyOf(line), reply)
      this.watch(line, waits.values(), reply)
      this.wakeDue(line, waits, reply)
      if (reply.isForeign) {
        this.behindString(here, reply, isBeat)
      }
    } catch {
      // Each waiter meets the failure in its own try, where its own limits decide how to handle it.
      this.wakeAll(waits)
    }
  }

  /**
   * A string of another library has the lock's name, and no message will say when it is gone. So the client of the first
   * waiter in the queue looks again soon; the others are woken by that waiter's commands, as behind any holder.
   */
  private behindString(here: LockWaiters, { first, ttlMs }: HeartbeatReply, isBeat: boolean): void {
    for (const { owner, waitsForForeign } of [...here.waits.values()]) {
      // Behind one without a time to live a wait may have to end, which its next try finds.
      if (!waitsForForeign || (isBeat && ttlMs === -1)) {
        this.wake(owner)
      }
    }
    if (here.waits.get(first)?.waitsForForeign === true) {
      this.lookSoon(here)
    }
  }

  private lookSoon(here: LockWaiters): void {
    const { lastHolders, runtime } = this.parts
    const pauseMs = pauseBehindForeign(lastHolders.seenForMs(keyOf(here.line)))
    here.look?.cancel()
    here.look = runtime.setTimer(pauseMs, () => void this.ask(here, false))
  }

  private noteLiveness(windows: LivenessWindows, window: LivenessWindow, sentAt: number): void {
    this.roundTripMs = this.parts.runtime.now() - sentAt
    windows.add(window, sentAt)
  }

  /** Wakes the waiters of this client that should try now. */
  private wakeDue(line: FairLine, waits: ReadonlyMap<string, FairWait>, reply: HeartbeatReply): void {
    const { clientId, runner } = this.parts
    const { first, holder, life } = reply
    if (waits.has(holder)) {
      // The grant message was lost, or none come any more.
      this.wake(holder)
      this.parts.waiter.topics.check()
    }
    for (const wait of [...waits.values()]) {
      if (wait.aliveSince !== '' && wait.aliveSince !== life.since) {
        // The client counted as dead in between and the waiter may have been removed: its try restores its old place.
        this.wake(wait.owner)
      }
    }
    if (waits.has(first)) {
      if (reply.ttlMs === -2) {
        this.wake(first)
        this.parts.waiter.topics.check()
      }
    } else if (first.startsWith(`${clientId}:`)) {
      // A waiter that gave up while Redis was unreachable, for longer than its withdrawal was retried.
      withdraw(runner, { line, owner: first }).catch(() => undefined)
    } else if (reply.ttlMs === -2) {
      this.timer.within(reply.firstAliveForMs)
    }
  }

  /** Applies any reply about a queue: when to ask next, and whether Java clients need their turn channels. */
  private watch(
    line: FairLine,
    waits: Iterable<FairWait>,
    { ttlMs, javaIsThere }: Pick<FairHeldReply, 'ttlMs' | 'javaIsThere'>,
  ): void {
    if (ttlMs >= 0) {
      this.timer.within(ttlMs)
    }
    if (javaIsThere) {
      for (const wait of waits) {
        this.javaTurns.listen(line, wait)
      }
    }
  }

  private wakeAll(waits: ReadonlyMap<string, FairWait>): void {
    for (const owner of [...waits.keys()]) {
      this.wake(owner)
    }
  }
}

function newLine(line: FairLine, aliveForMs: number): LockWaiters {
  const waits = new Map<string, FairWait>()
  return { line, waits, liveness: new LivenessWindows(aliveForMs), look: null }
}

function keyOf(line: FairLine): string {
  return line.keys[0] ?? ''
}
