import type { SeededRandom } from '../../harness/seeded-random.js'
import { type Connection, Engine, type Reply, toBytes } from '../engine.js'
import type { World } from '../world/world.js'

const STARTED_AT = Date.UTC(2026, 0, 1)

export type OnMessage = (channel: string, payload: string) => void

/** A Redis: an engine with a clock of its own, which can be down, stand still, and lose what it had. */
export class Server {
  readonly engine: Engine
  isUp = true
  private isPaused = false
  private clockStepMs = 0
  private lateCommands = 0
  private readonly waiting: (() => void)[] = []
  private readonly cuts = new Set<() => void>()

  constructor(
    private readonly world: World,
    private readonly chance: SeededRandom,
  ) {
    this.engine = new Engine({ clock: { now: () => this.nowMs }, runId: this.freshId() })
  }

  /** By its wall clock. */
  get nowMs(): number {
    return STARTED_AT + this.world.nowMs + this.clockStepMs
  }

  /** @param cut called when the server ends the connection */
  connect(onMessage: OnMessage, cut: () => void): Connection {
    this.cuts.add(cut)
    return this.engine.connect((_, channel, payload) => onMessage(channel, payload))
  }

  disconnect(connection: Connection, cut: () => void): void {
    this.cuts.delete(cut)
    connection.close()
  }

  /** Does it at once, or when it goes on. */
  serve(work: () => void): void {
    if (this.isPaused) this.waiting.push(work)
    else work()
  }

  /** Whether commands are still to arrive whose connection is gone. */
  get hasLateWork(): boolean {
    return this.lateCommands > 0
  }

  /** Runs scripts whose connection is gone; nobody is told what became of them. A restart leaves nothing of them. */
  serveLate(afterMs: number, scripts: readonly (readonly string[])[]): void {
    const { runId } = this.engine.state
    this.lateCommands += 1
    this.world.after(afterMs, () => {
      this.lateCommands -= 1
      this.serve(() => {
        if (this.isUp && this.engine.state.runId === runId) scripts.forEach((each) => this.command(...each))
      })
    })
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    this.waiting.splice(0).forEach((work) => this.serve(work))
  }

  /** All connections end, and until `start` there is no other. */
  stop(): void {
    this.isUp = false
    this.cutAll()
  }

  start({ empty = false } = {}): void {
    if (empty) this.engine.keyspace.clear()
    this.engine.scripting.flush()
    this.engine.state.runId = this.freshId()
    this.isUp = true
  }

  cutAll(): void {
    ;[...this.cuts].forEach((cut) => cut())
  }

  stepClock(byMs: number): void {
    // A server that runs has long removed what has ended: a clock that is set back does not bring it back.
    this.serve(() => this.engine.keyspace.keys())
    this.clockStepMs += byMs
  }

  /** Runs a command of nobody's, whatever state it is in. */
  command(...words: readonly string[]): Reply {
    return this.engine.command(words.map(toBytes))
  }

  private freshId(): string {
    return Array.from({ length: 40 }, () => this.chance.whole(16).toString(16)).join('')
  }
}
