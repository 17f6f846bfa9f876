import type { Answer } from '@holdfast/waiter'
import { ClientClosedError, type LockError, type RedisUnavailableError } from '../errors.js'
import type { LockEvents } from '../events.js'
import { isHeardEverywhere } from '../keys.js'
import type { Runtime } from '../runtime/runtime.js'
import { AcknowledgedTransport, type ReplicaAcks } from './acknowledged-transport.js'
import { UNDECIDED, type Announcement } from './announcement.js'
import { CommandDeadlines, type InFlight } from '../runtime/command-deadlines.js'
import { connectionEnded, notSent, type Plight } from './failures.js'
import { MovingSlots } from './moving-slots.js'
import type { RedisPort } from './redis-port.js'
import type { Script } from './script.js'
import { type ScriptCall } from './script-call.js'
import { identity, handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import { ScriptCommand, type CommandTrouble } from './script-command.js'
import { ScriptDispatch } from './script-dispatch.js'
import { tellWriters, type Writer } from './writers.js'

export interface RunnerLimits {
  readonly commandTimeoutMs: number
  /** Maximum number of transitions of one turn that are sent as one script; 1: each alone. */
  readonly batchSize: number
  /** Runs before a reply, or a missed deadline, resumes the caller. @returns the time, as of the runtime. */
  readonly beforeResume: () => number
  /** Called when a server that should be a primary replies that it is none, before the caller gets its error. */
  readonly demoted: () => void
  /** Called when a command begins after a rest: see `rest`. */
  readonly begun?: (() => void) | undefined
  /** Called for a reply that the script cannot give. */
  readonly unexpected?: CommandTrouble['unexpected'] | undefined
  /** Leases count only when this many replicas have them. */
  readonly replicas?: ReplicaAcks | undefined
}

/** Runs scripts with a deadline, and classifies failures by what is known about their effect. */
export class ScriptRunner implements CommandTrouble {
  private readonly usualDeadlines: CommandDeadlines
  private readonly otherDeadlines = new Map<number, CommandDeadlines>()
  private readonly dispatch: ScriptDispatch
  private readonly acknowledged: ScriptDispatch | null
  private readonly movingSlots: MovingSlots | null
  private readonly writers: Writer[] = []
  /** An error: the reason why this server must not grant anything. Releases are sent all the same. */
  private state: 'open' | 'closed' | RedisUnavailableError = 'open'

  constructor(
    private readonly port: RedisPort,
    private readonly runtime: Runtime,
    private readonly limits: RunnerLimits,
  ) {
    this.usualDeadlines = this.newDeadlines(limits.commandTimeoutMs)
    const { replicas } = limits
    this.movingSlots = port.slotOf ? new MovingSlots(runtime) : null
    const parts = { ...limits, runtime, port, movingSlots: this.movingSlots, trouble: this }
    this.dispatch = new ScriptDispatch(port, parts)
    const transport = replicas && new AcknowledgedTransport(runtime, port, replicas)
    this.acknowledged = transport ? new ScriptDispatch(transport, parts) : null
  }

  /** See `RedisPort.connectionEpoch`. */
  get connectionEpoch(): number {
    return this.port.connectionEpoch
  }

  /** The state of the connection, for error messages. */
  get plight(): Plight {
    const { state, trouble, advice } = this.port
    return { isConnected: state === 'ready', trouble, advice }
  }

  /** Has the connection for messages looked at: see `WakeSource.check`. */
  checkMessages(): void {
    this.port.messages.check?.()
  }

  /** How scripts publish on a channel: by the command whose messages its subscribers receive. */
  announcementOn(channel: string): Announcement {
    const { publishCommand } = this.port
    return publishCommand === 'PUBLISH' || isHeardEverywhere(channel)
      ? 'PUBLISH'
      : (publishCommand ?? UNDECIDED)
  }

  /** Whether a server knows all subscribers of a channel: of unsharded messages, each node of a cluster its own. */
  countsSubscribers(channel: string): boolean {
    return !this.port.slotOf || this.announcementOn(channel) === 'SPUBLISH'
  }

  /** The slot of a key; undefined when keys are not kept apart in slots. */
  slotOf(key: string): number | undefined {
    return this.port.slotOf?.(key)
  }

  /**
   * Runs a script and waits for the reply, at most `commandTimeout`.
   * @throws RedisUnavailableError no reply in time, or a refusal; its `outcome` says what is known
   * @throws WrongTypeError the key is not a lock
   */
  run<R>(call: ScriptCall<R>): Promise<R>
  run<R, T>(call: ScriptCall<R>, handler: ReplyHandler<R, T>): Promise<T>
  run<R>(call: ScriptCall<R>, handler: ReplyHandler<R, unknown> = identity): Promise<unknown> {
    const answer = this.ask(call, handler)
    return answer instanceof Promise ? answer : new Promise((resolve, reject) => answer.then(resolve, reject))
  }

  /** Like `run`, without a promise, for a caller that attaches its handlers at once. */
  ask<R, T>(call: ScriptCall<R>, handler: ReplyHandler<R, T>): Answer<T> {
    return this.isReady ? this.send(call, handler) : handleReply(this.sendWhenReady(call), handler)
  }

  /** Sends all transitions from here to the end of the turn as one script, regardless of other commands in flight. */
  keepTogether(): void {
    this.dispatch.keepTogether()
    this.acknowledged?.keepTogether()
  }

  /** The callers that this turn resumed go on once what they send is written. */
  resumedGoOn(): void {
    this.dispatch.resumedGoOn()
  }

  /**
   * Tells whether the script that was run last for this key, in this turn, has been written to its connection, and is there:
   * Redis has answered scripts like it on this connection before. False also where that cannot be told.
   */
  whenWritten(key: string, tell: (isWritten: boolean) => void): void {
    const { port, runtime, dispatch } = this
    if (!port.whenWritten || this.acknowledged || !this.isReady) {
      tell(false)
    } else if (this.writers.push({ key, epoch: port.connectionEpoch, tell }) === 1) {
      runtime.nextTick(() => tellWriters(this.writers.splice(0), port, dispatch, () => this.isReady))
    }
  }

  /** Whether Redis has answered this script on this connection: it is run as soon as it arrives. */
  knows(script: Script, key: string): boolean {
    return this.dispatch.knows(script, key)
  }

  /** Resolves when no command is in flight. */
  async whenSettled(): Promise<void> {
    await Promise.all(this.deadlines.map((each) => each.whenSettled()))
  }

  /**
   * Stops the timers of the deadlines that have none to watch. If that is all of them, the next command is reported.
   * @returns whether no command is in flight, or waits for a connection
   */
  rest(): boolean {
    return this.deadlines.every((each) => each.rest())
  }

  /** Tells whether this server may grant anything. @param unfit why not; null: it may */
  judge(unfit: RedisUnavailableError | null): void {
    if (this.state !== 'closed') {
      this.state = unfit ?? 'open'
    }
  }

  /** The reason why this server must not grant anything; null: it may. */
  get unfit(): RedisUnavailableError | null {
    return typeof this.state === 'string' ? null : this.state
  }

  /** Ends all waits for a reply or a connection, with an error. */
  close(): void {
    this.state = 'closed'
    this.limits.beforeResume()
    this.movingSlots?.close()
    this.deadlines.forEach((each) => each.close())
  }

  private get deadlines(): readonly CommandDeadlines[] {
    return [this.usualDeadlines, ...this.otherDeadlines.values()]
  }

  private get isReady(): boolean {
    return this.state === 'open' && this.port.state === 'ready'
  }

  private send<R, T>(call: ScriptCall<R>, handler: ReplyHandler<R, T>): ScriptCommand<R, T> {
    const deadlines = this.deadlinesOf(call)
    const dispatch = call.granted && this.acknowledged ? this.acknowledged : this.dispatch
    const command = new ScriptCommand(call, handler, deadlines.durationMs, dispatch)
    deadlines.add(command)
    dispatch.send(command as unknown as ScriptCommand)
    return command
  }

  /**
   * Without a connection nothing is sent: in the client's offline queue, the command would run late, after its caller
   * has given up.
   */
  private sendWhenReady<T>(call: ScriptCall<T>): Promise<T> {
    if (this.state === 'closed') {
      return Promise.reject(new ClientClosedError(call.lockName))
    }
    if (this.unfit && call.granted) {
      return Promise.reject(this.unfit)
    }
    const deadlines = this.deadlinesOf(call)
    const { durationMs } = deadlines
    return new Promise<T>((resolve, reject) => {
      const finish = (proceed: () => void): void => {
        unsent.settled = true
        stopListening()
        proceed()
        unsent.onSettled?.()
      }
      const check = (): void => {
        if (this.state === 'closed') {
          finish(() => reject(new ClientClosedError(call.lockName)))
        } else if (this.port.state === 'ready') {
          finish(() =>
            this.send<T, T>({ ...call, args: this.decide(call.args) }, identity).then(resolve, reject),
          )
        } else if (this.port.state === 'ended') {
          finish(() => reject(connectionEnded(this.port, call.lockName)))
        }
      }
      const stopListening = this.port.onStateChange(() => {
        this.limits.beforeResume()
        check()
      })
      const expire = (): void =>
        finish(() => {
          // It may be in the middle of its handshake.
          this.port.unanswered?.(call.keys[0])
          reject(notSent(`No connection to Redis within ${durationMs} ms`, true, this.port, call.lockName))
        })
      const unsent: InFlight = { settled: false, dueAt: 0, expire, abandon: check, onSettled: undefined }
      deadlines.add(unsent)
      check()
    })
  }

  private decide(args: readonly string[]): readonly string[] {
    const { publishCommand } = this.port
    return publishCommand ? args.map((each) => (each === UNDECIDED ? publishCommand : each)) : args
  }

  unanswered(key: string | undefined): void {
    this.port.unanswered?.(key)
  }

  refusalOf(command: object): LockError | undefined {
    return this.movingSlots?.refusalOf(command)
  }

  unexpected(details: LockEvents['unexpected-reply']): void {
    this.limits.unexpected?.(details)
  }

  private deadlinesOf({ timeoutMs = Infinity }: ScriptCall): CommandDeadlines {
    if (timeoutMs >= this.usualDeadlines.durationMs) {
      return this.usualDeadlines
    }
    const deadlines = this.otherDeadlines.get(timeoutMs) ?? this.newDeadlines(timeoutMs)
    this.otherDeadlines.set(timeoutMs, deadlines)
    return deadlines
  }

  private newDeadlines(timeoutMs: number): CommandDeadlines {
    const { beforeResume, begun } = this.limits
    return new CommandDeadlines(this.runtime, timeoutMs, beforeResume, begun)
  }
}
