import { randomBytes } from 'node:crypto'
import type { Server } from './client/line.js'
import type { Connection, OnMessage } from './engine/connection.js'
import { Engine } from './engine/engine.js'
import type { ServerClock } from './engine/keyspace.js'
import { AccessRules, type Permissions } from './engine/permissions.js'
import { nameIn } from './engine/scripting.js'
import { Failures, type Failure } from './failures.js'

/** An engine that can be down, refuse a user, and fail when it is told to. */
export class TestServer implements Server {
  readonly engine: Engine
  readonly failures = new Failures()
  isUp = true
  private rules: AccessRules | null = null
  private readonly listeners = new Set<() => void>()

  constructor(clock: ServerClock) {
    this.engine = new Engine({ clock, runId: freshId() })
  }

  get runId(): string {
    return this.engine.state.runId
  }

  connect(onMessage: OnMessage): Connection {
    return this.engine.connect(onMessage, () => this.rules)
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  failureOf([command = '', script = '']: readonly string[]): Failure | null {
    switch (command.toUpperCase()) {
      case 'EVAL':
        return this.failures.next(nameIn(script))
      case 'EVALSHA':
        return this.failures.next(this.engine.scripting.nameOf(script))
      default:
        return null
    }
  }

  stop(): void {
    if (this.isUp) {
      this.isUp = false
      this.tell()
    }
  }

  start(): void {
    if (!this.isUp) {
      this.isUp = true
      this.tell()
    }
  }

  /** Empties the server, like a restart without saved data. */
  empty(): void {
    this.engine.keyspace.clear()
    this.engine.scripting.flush()
    this.engine.state.runId = freshId()
  }

  restrict(permissions: Permissions | null): void {
    this.rules = permissions && new AccessRules(permissions)
  }

  private tell(): void {
    const listeners = [...this.listeners]
    listeners.forEach((listener) => listener())
  }
}

function freshId(): string {
  return randomBytes(20).toString('hex')
}
