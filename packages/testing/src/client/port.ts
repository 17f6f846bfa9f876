import type { Runtime } from '@holdfast/core'
import { ErrorReply } from '../engine/reply.js'
import { Line, type Receiver, type Server } from './line.js'
import { Messages } from './messages.js'

type Verdict = ((key: string) => boolean) | null

interface ScriptRun {
  readonly script: { readonly sha1: string; readonly lua: string }
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

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

  run({ script, keys, args }: ScriptRun, by: 'evalsha' | 'eval', receiver: Receiver): void {
    const text = by === 'eval' ? script.lua : script.sha1
    this.line.send([by.toUpperCase(), text, `${keys.length}`, ...keys, ...args], asClientTells(receiver))
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof ErrorReply
  }

  info(section: string, receiver: Receiver): boolean {
    const { isOpen } = this.line
    if (isOpen) {
      this.line.send(['INFO', section], asClientTells(receiver))
    }
    return isOpen
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

/** Told as ioredis does: in the turn of the reply, and of failures as promises do. */
function asClientTells(receiver: Receiver): Receiver {
  return {
    isWanted: () => receiver.isWanted(),
    answered: (reply) => receiver.answered(reply),
    failed: (error) =>
      void Promise.reject(error as Error).catch((reason: unknown) => receiver.failed(reason)),
  }
}
