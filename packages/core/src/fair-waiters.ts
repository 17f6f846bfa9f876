import type { Waiter } from '@holdfast/waiter'
import { localName, turnChannel } from './keys.js'
import type { ScriptRunner } from './redis/script-runner.js'
import type { Refusals } from './refusals.js'
import type { FairHeldReply } from './scripts/fair-lock/acquire.js'
import { heartbeat, type HeartbeatReply } from './scripts/fair-lock/heartbeat.js'
import type { FairLine } from './scripts/fair-lock/line.js'
import { withdraw } from './scripts/fair-lock/withdraw.js'
import { SoonestTimer } from './soonest-timer.js'
import type { Clock } from './system-clock.js'

export const NOT_IN_LINE = '0'

/** One waiter, from before the try that puts it in line until it has the lock or gives up. */
export interface FairWait {
  readonly owner: string
  /** The number it came at; NOT_IN_LINE before Redis has given it one. */
  arrival: string
  /** Its client's life in which Redis last had it in line; '' before. */
  aliveSince: string
  /** Hears a Java client announce its turn; null while no Java client is in sight. */
  javaListener: (() => void) | null
}

interface Line {
  readonly line: FairLine
  readonly waits: Map<string, FairWait>
}

export interface FairWaitersParts {
  readonly clientId: string
  readonly runner: ScriptRunner
  readonly waiter: Waiter
  readonly refusals: Refusals
  readonly clock: Clock
  /** Two of them after its last one a client counts as dead. */
  readonly heartbeatMs: number
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
export class FairWaiters {
  private readonly lines = new Map<string, Line>()
  private readonly timer: SoonestTimer

  constructor(private readonly parts: FairWaitersParts) {
    this.timer = new SoonestTimer(parts.clock, () => void this.beat())
  }

  /** How long a heartbeat makes this client count as alive, ms. */
  get aliveForMs(): number {
    return Math.ceil(2 * this.parts.heartbeatMs)
  }

  isAwaited(lockKey: string): boolean {
    return this.lines.has(lockKey)
  }

  /** Before the try that puts it in line: its turn may be announced before the answer arrives. */
  enter(line: FairLine, owner: string): FairWait {
    const lockKey = keyOf(line)
    const here = this.lines.get(lockKey) ?? { line, waits: new Map<string, FairWait>() }
    const wait = here.waits.get(owner) ?? { owner, arrival: NOT_IN_LINE, aliveSince: '', javaListener: null }
    this.lines.set(lockKey, here)
    here.waits.set(owner, wait)
    this.timer.within(this.parts.heartbeatMs)
    return wait
  }

  /** Redis has it in line. */
  stands(line: FairLine, owner: string, reply: FairHeldReply): void {
    const wait = this.lines.get(keyOf(line))?.waits.get(owner)
    if (wait) {
      wait.arrival = reply.arrival
      wait.aliveSince = reply.aliveSince
      this.watch(line, [wait], reply)
    }
  }

  /** It has the lock, or does not want it any more. */
  leave(line: FairLine, owner: string): void {
    const lockKey = keyOf(line)
    const here = this.lines.get(lockKey)
    const wait = here?.waits.get(owner)
    if (!here || !wait) {
      return
    }
    here.waits.delete(owner)
    if (wait.javaListener) {
      void this.parts.waiter.topics.remove(javaTopic(line, owner), wait.javaListener)
    }
    if (here.waits.size === 0) {
      this.lines.delete(lockKey)
    }
    if (this.lines.size === 0) {
      this.timer.cancel()
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

  private async ask({ line, waits }: Line): Promise<void> {
    const { runner, clientId } = this.parts
    try {
      const reply = await heartbeat(runner, { line, clientId, aliveForMs: this.aliveForMs })
      if (waits.size === 0) {
        return
      }
      this.watch(line, waits.values(), reply)
      this.callUp(line, waits, reply)
    } catch {
      // What is wrong each of them finds out by its own try, and its own limits say what that means for it.
      this.wakeAll(waits)
    }
  }

  /** Whoever of ours is to try now. */
  private callUp(line: FairLine, waits: ReadonlyMap<string, FairWait>, reply: HeartbeatReply): void {
    const { clientId, runner } = this.parts
    const { first, aliveSince } = reply
    for (const wait of [...waits.values()]) {
      if (wait.aliveSince !== '' && wait.aliveSince !== aliveSince) {
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
  private watch(
    line: FairLine,
    waits: Iterable<FairWait>,
    { ttlMs, holder, holds, javaIsThere }: Seen,
  ): void {
    if (holder !== '') {
      this.parts.refusals.note(keyOf(line), { ttlMs, holder, holds })
    }
    if (ttlMs >= 0) {
      this.timer.within(ttlMs)
    }
    if (javaIsThere) {
      for (const wait of waits) {
        this.listenToJava(line, wait)
      }
    }
  }

  /** Redisson announces the release of a fair lock on a channel of the first in line's own. */
  private listenToJava(line: FairLine, wait: FairWait): void {
    if (wait.javaListener) {
      return
    }
    const listener = (): void => this.wake(wait.owner)
    wait.javaListener = listener
    // A message before the confirmation reached nobody: the confirmation counts as one (I4).
    this.parts.waiter.topics.add(javaTopic(line, wait.owner), listener).then(listener, () => {
      wait.javaListener = null
    })
  }

  private wakeAll(waits: ReadonlyMap<string, FairWait>): void {
    for (const owner of [...waits.keys()]) {
      this.wake(owner)
    }
  }
}

interface Seen {
  readonly ttlMs: number
  readonly holder: string
  readonly holds: number
  readonly javaIsThere: boolean
}

function keyOf(line: FairLine): string {
  return line.keys[0] ?? ''
}

function javaTopic(line: FairLine, owner: string): string {
  return turnChannel(line.channels[1], owner)
}
