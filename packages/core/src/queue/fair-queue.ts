import type { Waiter } from '@holdfast/waiter'
import type { RejoinBatcher } from './rejoin-batch.js'
import type { GrantReceiver } from './grants.js'
import { RedissonTurnChannel } from './redisson-turns.js'
import { localName } from '../keys.js'
import { LivenessWindows } from './liveness.js'
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
import { afterThisTick, type Clock } from '../runtime/time.js'

export const NOT_IN_LINE = '0'

/** One waiter, from before the try that puts it in line until it has the lock or gives up. */
export interface FairWait {
  readonly owner: string
  /** The number it came at; NOT_IN_LINE before Redis has given it one. */
  arrival: string
  /** Its client's life in which Redis last had it in line; '' before. */
  aliveSince: string
  /** Ends hearing a Java client announce its turn; null while no Java client is in sight. */
  stopListening: (() => void) | null
}

interface Line {
  readonly line: FairLine
  readonly waits: Map<string, FairWait>
  readonly liveness: LivenessWindows
}

export interface FairQueueParts {
  readonly clientId: string
  /** See `SignOfLife`. */
  readonly nonce: string
  readonly runner: ScriptRunner
  readonly waiter: Waiter
  readonly lastHolders: LastSeenHolders
  readonly clock: Clock
  /** Two of them after its last one a client counts as dead. */
  readonly heartbeatMs: number
  /** Whether a lock that a waiter is given is used before Redis is asked. */
  readonly takesGrants: boolean
  /** Null where waiters that stand behind each other do not pass it on. */
  readonly rejoins: RejoinBatcher | null
  readonly grantReceiver: GrantReceiver
}

/** The local line of one owner. Nobody else stands in it: the order of a fair lock is kept by Redis. */
export function fairQueue(owner: string): string {
  return localName('fair', owner)
}

/**
 * This client's waiters in the lines of fair locks. They sleep until they are told that it is their turn. One
 * heartbeat for all of them says that they live, and finds what no message told: a message that was lost, a lease
 * that ran out, a head that died.
 */
export class FairQueue {
  private readonly lines = new Map<string, Line>()
  private readonly lineOf = new Map<string, Line>()
  private readonly javaTurns: RedissonTurnChannel
  private readonly timer: SoonestTimer
  /** Of the latest answer. */
  private roundTripMs = 0

  constructor(private readonly parts: FairQueueParts) {
    this.javaTurns = new RedissonTurnChannel(parts.waiter.topics, (owner) => this.wake(owner))
    this.timer = new SoonestTimer(parts.clock, () => void this.beat())
  }

  /** What this client says of itself whenever it asks. */
  get alive(): SignOfLife {
    const { clientId, nonce, takesGrants, rejoins, grantReceiver, runner } = this.parts
    const { aliveForMs } = this
    // What comes as late as that would be over before anybody could use it, and its waiter has lost its place.
    const isInTime = this.roundTripMs <= aliveForMs / 8
    return {
      clientId,
      nonce,
      aliveForMs,
      // A client of a cluster may listen at any node.
      hears: grantReceiver.isSubscribed && runner.slotOf(clientId) === undefined,
      takesGrants: takesGrants && isInTime,
      passesOn: rejoins !== null,
    }
  }

  /** How long a heartbeat makes this client count as alive, ms. */
  private get aliveForMs(): number {
    return Math.ceil(2 * this.parts.heartbeatMs)
  }

  /** How many of this client wait for it. */
  countAt(lockKey: string): number {
    return this.lines.get(lockKey)?.waits.size ?? 0
  }

  get rejoins(): RejoinBatcher | null {
    return this.parts.rejoins
  }

  /** Before the try that puts it in line: its turn may be announced before the answer arrives. */
  enter(line: FairLine, owner: string): FairWait {
    const lockKey = keyOf(line)
    const here = this.lines.get(lockKey) ?? newLine(line, this.aliveForMs)
    this.lines.set(lockKey, here)
    this.timer.within(this.parts.heartbeatMs)
    return here.waits.get(owner) ?? this.begin(here, owner)
  }

  private begin(here: Line, owner: string): FairWait {
    const wait = { owner, arrival: NOT_IN_LINE, aliveSince: '', stopListening: null }
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

  /** Redis has it in line. */
  stands(owner: string, reply: FairHeldReply, sentAt: number): void {
    const here = this.lineOf.get(owner)
    const wait = here?.waits.get(owner)
    if (here && wait) {
      const { line, liveness } = here
      this.noteLiveness(liveness, reply.life, sentAt)
      wait.arrival = reply.arrival
      wait.aliveSince = reply.life.since
      this.watch(line, [wait], reply)
    }
  }

  /** It has the lock, or does not want it any more. */
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
      this.lines.delete(keyOf(here.line))
      this.forgetHolderSoon(keyOf(here.line))
    }
    if (this.lines.size === 0) {
      this.timer.cancel()
    }
  }

  /** Not before the caller has been told of the holder: it may be about to hear that its wait is over. */
  private forgetHolderSoon(lockKey: string): void {
    const { lastHolders } = this.parts
    if (lastHolders.isKnown(lockKey)) {
      afterThisTick(() => {
        if (!this.lines.has(lockKey)) {
          lastHolders.forget(lockKey)
        }
      })
    }
  }

  /** A message says that it is its turn: it tries. The message may be late, or a second one. */
  wake(owner: string): void {
    this.parts.waiter.wake(fairQueue(owner))
  }

  /** Messages may have been missed: each of them tries. */
  wakeEverybody(): void {
    this.lines.forEach(({ waits }) => this.wakeAll(waits))
  }

  private async beat(): Promise<void> {
    if (this.lines.size > 0) {
      // Before the answers: a round trip must not come on top of the interval.
      this.timer.within(this.parts.heartbeatMs)
    }
    await Promise.all([...this.lines.values()].map((each) => this.ask(each)))
  }

  private async ask({ line, waits, liveness }: Line): Promise<void> {
    const { runner, clock } = this.parts
    const sentAt = clock.now()
    try {
      const reply = await heartbeat(runner, { line, alive: this.alive })
      if (waits.size === 0) {
        return
      }
      this.noteLiveness(liveness, reply.life, sentAt)
      this.parts.lastHolders.note(keyOf(line), reply)
      this.watch(line, waits.values(), reply)
      this.callUp(line, waits, reply)
    } catch {
      // What is wrong each of them finds out by its own try, and its own limits say what that means for it.
      this.wakeAll(waits)
    }
  }

  private noteLiveness(windows: LivenessWindows, window: LivenessWindow, sentAt: number): void {
    this.roundTripMs = this.parts.clock.now() - sentAt
    windows.add(window, sentAt)
  }

  /** Whoever of ours is to try now. */
  private callUp(line: FairLine, waits: ReadonlyMap<string, FairWait>, reply: HeartbeatReply): void {
    const { clientId, runner } = this.parts
    const { first, holder, life } = reply
    if (waits.has(holder)) {
      // It was given the lock, and does not know.
      this.wake(holder)
    }
    for (const wait of [...waits.values()]) {
      if (wait.aliveSince !== '' && wait.aliveSince !== life.since) {
        // Taken for dead since then, it may have been taken out of the line: it goes back to where it stood.
        this.wake(wait.owner)
      }
    }
    if (waits.has(first)) {
      if (reply.ttlMs === -2) {
        this.wake(first)
      }
    } else if (first.startsWith(`${clientId}:`)) {
      // Its caller went while Redis did not answer, for so long that nobody tells it any more.
      withdraw(runner, { line, owner: first }).catch(() => undefined)
    } else if (reply.ttlMs === -2) {
      this.timer.within(reply.firstAliveForMs)
    }
  }

  /** What any answer about a line says about the next moment worth asking, and about who is there. */
  private watch(line: FairLine, waits: Iterable<FairWait>, { ttlMs, javaIsThere }: Seen): void {
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

interface Seen {
  readonly ttlMs: number
  readonly javaIsThere: boolean
}

function newLine(line: FairLine, aliveForMs: number): Line {
  return { line, waits: new Map<string, FairWait>(), liveness: new LivenessWindows(aliveForMs) }
}

function keyOf(line: FairLine): string {
  return line.keys[0] ?? ''
}
