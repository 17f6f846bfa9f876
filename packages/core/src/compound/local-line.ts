import type { WaitOutcome } from '@holdfast/waiter'
import { newTurn, type Turn } from '../context.js'
import { endTurn } from '../reentry.js'
import type { Session } from '../session.js'
import type { CompoundCall } from './compound-call.js'

interface Line {
  readonly turn: Turn
  callers: number
}

const linesOf = new WeakMap<Session, Map<string, Line>>()

/**
 * The callers of one client that wait for the same RedLock, in order: the first alone asks the nodes. Entered and
 * left by each.
 */
export class LocalLine {
  private readonly lines: Map<string, Line>
  private readonly line: Line

  constructor(
    private readonly session: Session,
    private readonly name: string,
  ) {
    this.lines = linesOf.get(session) ?? new Map<string, Line>()
    linesOf.set(session, this.lines)
    this.line = this.lines.get(name) ?? { turn: newTurn(), callers: 0 }
    this.lines.set(name, this.line)
    this.line.callers += 1
  }

  /**
   * Resolves when it is the caller's turn, to be ended by `endTurn`.
   * @param onLeave is given what makes the caller leave the line; returns its un-listener
   * @throws the reason of the call's signal; ClientClosedError
   */
  async takeTurn(
    call: CompoundCall,
    onLeave: (leave: () => void) => () => void,
  ): Promise<WaitOutcome<true>['kind']> {
    const { turn } = this.line
    const limit = call.leftMs === Infinity ? {} : { timeoutMs: Math.max(1, call.leftMs) }
    const ticket = this.session.waiter.enter<true>({
      queue: turn.queue,
      // Woken by whoever ends its turn.
      ticks: false,
      ...limit,
      ...(call.signal ? { signal: call.signal } : {}),
      attempt: () => {
        if (turn.taken) {
          return Promise.resolve({ kind: 'refused' })
        }
        turn.taken = true
        return Promise.resolve({ kind: 'done', value: true })
      },
      giveBack: () => this.endTurn(),
    })
    const stopListening = onLeave(() => ticket.leave())
    try {
      return (await ticket.outcome).kind
    } finally {
      stopListening()
    }
  }

  endTurn(): void {
    endTurn(this.session, this.line.turn)
  }

  leave(): void {
    this.line.callers -= 1
    if (this.line.callers === 0) {
      this.lines.delete(this.name)
    }
  }
}
