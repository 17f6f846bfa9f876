import { type Connection, fromBytes, type Reply, toBytes } from '../engine.js'
import type { Process } from '../world/process.js'
import type { Server } from './server.js'
import type { Fate, Wire } from './wire.js'

/** Events of its connection for a client. */
export interface LinkEvents {
  replied(reply: Reply): void
  message(channel: string, payload: string): void
  /** The server has run a command; its reply is still on its way. */
  ran(words: readonly string[], reply: Reply): void
  /** The connection is over, and was not ended by this side. */
  ended(): void
}

type Item = { readonly reply: Reply } | { readonly channel: string; readonly payload: string }
type Words = readonly string[]

/**
 * One connection: a lane in each direction, in which nothing overtakes. What is written in one turn travels together.
 */
export class Link {
  private readonly name: string
  private readonly connection: Connection
  private readonly up: Lane<Words>
  private readonly down: Lane<Item>
  private isOver = false
  private isLeft = false
  private fate: Fate = { kind: 'lost' }
  private readonly stopListening: () => void

  constructor(
    private readonly process: Process,
    private readonly server: Server,
    private readonly wire: Wire,
    private readonly events: LinkEvents,
  ) {
    process.linksMade += 1
    this.name = `${process.name} ${process.linksMade}`
    const { name } = this
    const up = { lane: `${name} up`, actor: 'server', process, wire }
    const down = { lane: `${name} down`, actor: process.name, process, wire }
    this.up = new Lane(up, (commands) => this.reachServer(commands))
    this.down = new Lane(down, (items) => this.reachHost(items))
    this.connection = server.connect((channel, payload) => {
      if (!wire.dropsMessage()) this.down.send({ channel, payload })
    }, this.cut)
    const unwire = wire.add(this.cut, () => this.goOn())
    process.whenDead(() => this.leave())
    this.stopListening = unwire
  }

  send(words: Words): void {
    this.up.send(words)
  }

  /** Ended by the client. What is on its way arrives. */
  leave(): void {
    this.isLeft = true
    if (this.isOver) return
    this.process.world.after(this.wire.delayMs(), () => {
      if (!this.isOver) this.over()
    })
  }

  /** Ended by the network or the server: what is on its way is lost, or reaches the server later. */
  readonly cut = (): void => this.cutWith(this.wire.fate())

  cutWith(fate: Fate): void {
    if (this.isOver) return
    this.fate = fate
    this.over()
    const { process } = this
    const run = (): void => {
      process.wake('connection', () => {
        if (!this.isLeft) this.events.ended()
      })
    }
    process.world.deliver(
      { lane: `${this.name} end`, actor: process.name, run },
      process.world.nowMs + this.wire.delayMs(),
    )
  }

  private over(): void {
    this.isOver = true
    this.stopListening()
    this.server.disconnect(this.connection, this.cut)
    this.up.flush().forEach((commands) => this.reachServer(commands))
  }

  private goOn(): void {
    this.up.flush().forEach((commands) => this.reachServer(commands))
    this.down.flush().forEach((items) => this.reachHost(items))
  }

  private reachServer(commands: readonly Words[]): void {
    const { wire, server } = this
    if (this.isOver) {
      if (this.fate.kind === 'late') server.serveLate(this.fate.afterMs, commands.filter(isScript))
    } else if (wire.swallowsUp) {
      this.up.hold(commands)
    } else {
      server.serve(() => commands.forEach((words) => this.run(words)))
    }
  }

  private run(words: Words): void {
    const { wire, connection, server } = this
    if (this.isOver) {
      this.reachServer([words])
      return
    }
    const reply = connection.command(words.map(toBytes))
    this.events.ran(words, reply)
    if (wire.repliesToLose > 0 && isScript(words)) {
      wire.repliesToLose -= 1
      if (wire.copiesToCome > 0) {
        wire.copiesToCome -= 1
        server.serveLate(wire.lateMs(), [words])
      }
      this.cut()
      return
    }
    this.down.send({ reply })
  }

  // A black hole is in front of the host, not of its process: one that stands still has in its socket what came before.
  private reachHost(items: readonly Item[]): void {
    if (this.wire.swallowsDown) this.down.hold(items)
    else this.process.wake('connection', () => this.reachClient(items))
  }

  private reachClient(items: readonly Item[]): void {
    if (this.isOver || this.isLeft) return
    for (const item of items) {
      if ('reply' in item) this.events.replied(item.reply)
      else this.events.message(fromBytes(item.channel), fromBytes(item.payload))
    }
  }
}

interface LaneParts {
  readonly lane: string
  readonly actor: string
  readonly process: Process
  readonly wire: Wire
}

/** One direction. */
class Lane<T> {
  private parcel: T[] = []
  private parcelStep = -1
  private lastMs = 0
  private held: (readonly T[])[] = []

  constructor(
    private readonly parts: LaneParts,
    private readonly arrive: (parcel: readonly T[]) => void,
  ) {}

  send(item: T): void {
    const { lane, actor, wire, process } = this.parts
    const { world } = process
    if (world.steps === this.parcelStep && (world.choice !== null || !wire.splits())) {
      this.parcel.push(item)
      return
    }
    const parcel = [item]
    this.parcel = parcel
    this.parcelStep = world.steps
    this.lastMs = Math.max(this.lastMs, world.nowMs + wire.delayMs())
    world.deliver({ lane, actor, run: () => this.arrive(parcel) }, this.lastMs)
  }

  hold(parcel: readonly T[]): void {
    this.held.push(parcel)
  }

  flush(): readonly (readonly T[])[] {
    return this.held.splice(0)
  }
}

const isScript = ([name = '']: Words): boolean => name === 'evalsha' || name === 'eval'
