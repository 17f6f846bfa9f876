import type { Runtime } from '@holdfast/core'
import { ErrorReply } from '../engine/reply.js'
import { type Answer, Line, type Server } from './line.js'
import { Messages } from './messages.js'

type Verdict = ((key: string) => boolean) | null
type Wanted = () => boolean

/** Core's RedisPort, on a server in the process. */
export class Port {
  readonly publishCommand = 'PUBLISH'
  readonly keyPrefix = ''
  readonly messages: Messages
  private readonly line: Line
  private readonly listeners = new Set<() => void>()
  private readonly primaryListeners = new Set<(verdict: Verdict) => void>()
  private runId: string
  private closed = false

  constructor(
    runtime: Runtime,
    private readonly server: Server,
  ) {
    this.runId = server.runId
    this.messages = new Messages(runtime, server)
    this.line = new Line(runtime, server, { changed: () => this.changed(), message: () => undefined })
  }

  get state(): 'ready' | 'connecting' | 'ended' {
    return this.closed ? 'ended' : this.line.isOpen ? 'ready' : 'connecting'
  }

  get advice(): string {
    return this.server.isUp ? '' : ' Its TestRedis is stopped: start() lets it go on.'
  }

  get trouble(): Error | undefined {
    return this.server.isUp ? undefined : new Error('The TestRedis is stopped')
  }

  get connectionEpoch(): number {
    return this.line.breaks
  }

  onStateChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  onPrimary(listener: (verdict: Verdict) => void): () => void {
    this.primaryListeners.add(listener)
    return () => this.primaryListeners.delete(listener)
  }

  evalsha(sha1: string, keys: readonly string[], args: readonly string[], isWanted: Wanted): Answer {
    return this.line.ask(['EVALSHA', sha1, `${keys.length}`, ...keys, ...args], isWanted)
  }

  eval(lua: string, keys: readonly string[], args: readonly string[], isWanted: Wanted): Answer {
    return this.line.ask(['EVAL', lua, `${keys.length}`, ...keys, ...args], isWanted)
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof ErrorReply
  }

  info(section: string): Answer | undefined {
    return this.line.isOpen ? this.line.ask(['INFO', section], () => true) : undefined
  }

  scans(): readonly ((cursor: string, match: string, count: number, type: string) => Promise<unknown>)[] {
    return [
      (cursor, match, count, type) =>
        this.line.command(['SCAN', cursor, 'MATCH', match, 'COUNT', `${count}`, 'TYPE', type]),
    ]
  }

  close(): Promise<void> {
    this.closed = true
    this.listeners.clear()
    this.primaryListeners.clear()
    this.messages.close()
    this.line.close()
    return Promise.resolve()
  }

  private changed(): void {
    const { runId } = this.server
    if (this.line.isOpen && runId !== this.runId) {
      this.runId = runId
      // Its data are gone: every lease is doubted.
      this.primaryListeners.forEach((listener) => listener(() => true))
    }
    const listeners = [...this.listeners]
    listeners.forEach((listener) => listener())
  }
}
