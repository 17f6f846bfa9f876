import { ClientClosedError, LockError, RedisUnavailableError, WrongTypeError } from '../errors.js'
import type { Script } from '../scripts/define-script.js'
import type { Clock } from '../system-clock.js'
import { CommandDeadlines, type InFlight } from './command-deadlines.js'
import type { RedisPort } from './redis-port.js'

/** One run of a script. */
export interface ScriptCall {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** For error messages; absent when the call is about many locks. */
  readonly lockName?: string
  /** How long to wait for the answer, ms. Default: the client's `commandTimeout`. */
  readonly timeoutMs?: number
}

// Redis is not able to work now but will be: a fail-over, a restart, a slot on the move, a long script.
const TRANSIENT = new Set([
  'READONLY',
  'LOADING',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'BUSY',
  'UNBLOCKED',
])

/** Runs scripts with a deadline, and tells failures apart by what is known of their effect. */
export class ScriptRunner {
  private readonly deadlines = new Map<number, CommandDeadlines>()
  private closed = false
  /** Runs before the answer to a command resumes whoever waits for it. */
  beforeResume: () => void = () => undefined

  constructor(
    private readonly port: RedisPort,
    private readonly clock: Clock,
    private readonly commandTimeoutMs: number,
  ) {}

  /** See `RedisPort.connectionEpoch`. */
  get connectionEpoch(): number {
    return this.port.connectionEpoch
  }

  /**
   * @throws RedisUnavailableError no answer in time, or a refusal; its `outcome` tells what is known
   * @throws WrongTypeError the key is not a lock
   */
  run<T>(call: ScriptCall, parse: (reply: unknown) => T): Promise<T> {
    if (this.closed) {
      return Promise.reject(new ClientClosedError(call.lockName))
    }
    return this.port.state === 'ready'
      ? this.send(call, parse, this.timeoutOf(call))
      : this.sendWhenReady(call, parse)
  }

  close(): void {
    this.closed = true
    for (const each of this.deadlines.values()) {
      each.close()
    }
  }

  private send<T>(call: ScriptCall, parse: (reply: unknown) => T, timeoutMs: number): Promise<T> {
    const { script, keys, args } = call
    return new Promise<T>((resolve, reject) => {
      const sent = new SentCommand(reject, timeoutMs, call.lockName)
      this.deadlinesOf(timeoutMs).add(sent)
      const succeed = (reply: unknown): void => {
        sent.settled = true
        this.beforeResume()
        resolve(parse(reply))
      }
      const fail = (error: unknown): void => {
        sent.settled = true
        this.beforeResume()
        reject(this.translate(error, call))
      }
      this.port.evalsha(script.sha1, keys, args).then(succeed, (error: unknown) => {
        // A flushed script cache or a new primary: the digest is unknown there, and nothing ran.
        if (!sent.settled && this.port.isErrorReply(error) && error.message.startsWith('NOSCRIPT')) {
          this.port.eval(script.lua, keys, args).then(succeed, fail)
        } else {
          fail(error)
        }
      })
    })
  }

  /** Without a connection nothing is sent: a command in the client's off-line queue would run late, and unasked. */
  private sendWhenReady<T>(call: ScriptCall, parse: (reply: unknown) => T): Promise<T> {
    const timeoutMs = this.timeoutOf(call)
    return new Promise<T>((resolve, reject) => {
      const finish = (proceed: () => void): void => {
        unsent.settled = true
        stopListening()
        proceed()
      }
      const notSent = (message: string, transient: boolean): RedisUnavailableError =>
        new RedisUnavailableError(message, { outcome: 'not-sent', transient, lockName: call.lockName })
      const check = (): void => {
        if (this.closed) {
          finish(() => reject(new ClientClosedError(call.lockName)))
        } else if (this.port.state === 'ready') {
          finish(() => resolve(this.send(call, parse, timeoutMs)))
        } else if (this.port.state === 'ended') {
          finish(() => reject(notSent('The Redis connection has ended.', false)))
        }
      }
      const stopListening = this.port.onStateChange(check)
      const expire = (): void =>
        finish(() => reject(notSent(`No connection to Redis within ${timeoutMs} ms.`, true)))
      const unsent: InFlight = { settled: false, dueAt: 0, expire }
      this.deadlinesOf(timeoutMs).add(unsent)
      check()
    })
  }

  private translate(error: unknown, call: ScriptCall): LockError {
    const cause = error instanceof Error ? error : new Error(String(error))
    if (!this.port.isErrorReply(error)) {
      const message = `The connection to Redis failed; whether the command ran is unknown: ${cause.message}`
      return new RedisUnavailableError(message, {
        outcome: 'unknown',
        transient: true,
        lockName: call.lockName,
        cause,
      })
    }
    const code = /^[A-Z]+/.exec(cause.message)?.[0] ?? ''
    if (code === 'WRONGTYPE') {
      return new WrongTypeError(call.lockName ?? '', call.keys[0] ?? '', cause)
    }
    const transient = TRANSIENT.has(code)
    return new RedisUnavailableError(`Redis refused the command: ${cause.message}`, {
      outcome: 'refused',
      transient,
      lockName: call.lockName,
      cause,
    })
  }

  private timeoutOf(call: ScriptCall): number {
    return Math.min(call.timeoutMs ?? this.commandTimeoutMs, this.commandTimeoutMs)
  }

  private deadlinesOf(timeoutMs: number): CommandDeadlines {
    let deadlines = this.deadlines.get(timeoutMs)
    if (!deadlines) {
      deadlines = new CommandDeadlines(this.clock, timeoutMs)
      this.deadlines.set(timeoutMs, deadlines)
    }
    return deadlines
  }
}

class SentCommand implements InFlight {
  settled = false
  dueAt = 0

  constructor(
    private readonly reject: (error: LockError) => void,
    private readonly timeoutMs: number,
    private readonly lockName: string | undefined,
  ) {}

  expire(): void {
    const message = `Redis did not answer within ${this.timeoutMs} ms; whether the command ran is unknown.`
    const { lockName } = this
    this.reject(new RedisUnavailableError(message, { outcome: 'unknown', transient: true, lockName }))
  }
}
