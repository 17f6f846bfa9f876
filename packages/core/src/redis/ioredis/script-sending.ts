import type { Answer } from '@holdfast/waiter'
import type { IoredisScripting } from './client.js'
import type { ScriptTransport } from '../redis-port.js'
import { AutoPipelines } from './auto-pipelines.js'
import { ignore, type Sender } from './sender.js'

/** The part of ioredis's Command that a lean one inherits: it converts replies, and all else ioredis may call. */
interface IoredisCommand {
  replyEncoding: unknown
  toWritable(stream: unknown): unknown
  transformReply(reply: unknown): unknown
}

interface CommandClient extends IoredisScripting {
  readonly options?: object
  /** Wrappers without it are accepted: nothing is asked then. */
  readonly info?: unknown
  sendCommand(command: never): unknown
}

/** One node of a cluster. */
interface InformedClient {
  info(section: string): unknown
  sendCommand(command: never): unknown
}

/** ioredis sends commands again on a connection that did not get its database. */
interface Database {
  readonly refusal: unknown
}

const NONE: readonly string[] = []

interface TimeLimits {
  readonly commandTimeout?: unknown
  readonly redisOptions?: { readonly commandTimeout?: unknown }
}

/** Sends commands whose answer takes one consumer, attached at once and called in the same turn as the reply. */
export interface ScriptSending extends Pick<ScriptTransport, 'evalsha' | 'eval'> {
  /** Scripts are sent behind what ioredis gathers, later than they are given here. */
  readonly isLate: boolean
  /** Here, so that its answer comes before those of scripts that are sent after it. */
  info(section: string, node?: InformedClient): Answer<unknown> | undefined
}

/**
 * Sends scripts as commands that encode themselves: ioredis's own cost each call several closures, copies of the
 * arguments, and more turns of the microtask queue. ioredis still queues them, writes them, sends them again on the next
 * connection and redirects them in a cluster; wrappers of `sendCommand` see them.
 *
 * A client whose `evalsha` is not ioredis's own, or whose commands have time limits of their own, is called by its methods.
 */
export function scriptSending(
  client: CommandClient,
  sender: Sender,
  database: Database | null = null,
): ScriptSending {
  const { commandTimeout, redisOptions }: TimeLimits = client.options ?? {}
  const isTimed = commandTimeout !== undefined || redisOptions?.commandTimeout !== undefined
  const pipelines = AutoPipelines.of(client)
  const model = isTimed || Object.hasOwn(client, 'evalsha') ? null : modelCommand(client)
  if (!model) {
    const script =
      (name: 'evalsha' | 'eval'): ScriptSending['eval'] =>
      (text, keys, args, isWanted) => {
        const send = (): Promise<unknown> => sender[name](text, keys.length, ...keys, ...args)
        const whenWanted = (): Promise<unknown> => (isWanted() ? send() : Promise.reject(givenUp()))
        return pipelines
          ? new Promise((resolve) => pipelines.behind(keys[0], () => resolve(whenWanted())))
          : send()
      }
    return {
      isLate: pipelines !== null,
      evalsha: script('evalsha'),
      eval: script('eval'),
      info: (section, node) => (node ?? sender).info(section) as Promise<unknown>,
    }
  }
  const Command = leanCommandLike(model, database)
  const script =
    (name: 'evalsha' | 'eval'): ScriptSending['eval'] =>
    (text, keys, args, isWanted) => {
      const command = new Command(name, text, keys, args)
      if (pipelines) {
        pipelines.behind(keys[0], () =>
          isWanted() ? client.sendCommand(command as never) : command.reject(givenUp()),
        )
      } else {
        client.sendCommand(command as never)
      }
      return command
    }
  return {
    isLate: pipelines !== null,
    evalsha: script('evalsha'),
    eval: script('eval'),
    info(section, node) {
      const to = node ?? client
      if (!to.info) {
        return undefined
      }
      const command = new Command('info', null, NONE, [section])
      to.sendCommand(command as never)
      return command
    },
  }
}

const givenUp = (): Error => new Error('Given up before it was sent.')

/** The command that the client creates for a script; null: it creates none. */
function modelCommand(client: CommandClient): IoredisCommand | null {
  const caught: Partial<IoredisCommand>[] = []
  const catcher = { options: {}, sendCommand: (command: IoredisCommand) => caught.push(command) }
  try {
    void client.evalsha.call(catcher as unknown as IoredisScripting, '', 0)
  } catch {
    return null
  }
  const [model] = caught
  const isCommand = typeof model?.toWritable === 'function' && typeof model.transformReply === 'function'
  return isCommand ? (model as IoredisCommand) : null
}

/** The end of one part and the length of the next, which is short. */
const BREAKS = Array.from({ length: 256 }, (_, length) => breakOf(length))

function breakOf(length: number): string {
  return `\r\n$${length}\r\n`
}

function withPart(text: string, part: string): string {
  const length = Buffer.byteLength(part)
  return text + (BREAKS[length] ?? breakOf(length)) + part
}

/** Everything before the keys, of scripts sent by their digest: they have few forms. */
const HEADS = new Map<string, string>()

function headOf(name: string, script: string | null, keyCount: number, argCount: number): string {
  if (script === null) {
    return withPart(`*${1 + argCount}`, name)
  }
  const form = `${script}${keyCount}:${argCount}`
  const known = HEADS.get(form)
  if (known !== undefined) {
    return known
  }
  const head = [name, script, `${keyCount}`].reduce(withPart, `*${3 + keyCount + argCount}`)
  if (name === 'evalsha') {
    HEADS.set(form, head)
  }
  return head
}

abstract class LeanCommand implements Answer<unknown> {
  abstract readonly replyEncoding: unknown
  // Written by ioredis: fields that exist from the start keep one shape for all commands.
  isTraced = false
  isResolved = false
  isSettled = false
  protocol = 2
  replyMapping = 'legacy'
  private whole: string[] | undefined = undefined
  private answered: ((value: unknown) => void) | undefined = undefined
  private failed: ((error: unknown) => void) | undefined = undefined
  private promised: Promise<unknown> | undefined = undefined
  private resolvePromise: ((value: unknown) => void) | undefined = undefined
  private rejectPromise: ((error: unknown) => void) | undefined = undefined

  constructor(
    readonly name: 'evalsha' | 'eval' | 'info',
    /** Its text or digest; null: it runs none. */
    private readonly script: string | null,
    private readonly scriptKeys: readonly string[],
    private readonly scriptArgs: readonly string[],
  ) {}

  /** Called by ioredis, to decode the server's reply. */
  abstract transformReply(reply: unknown): unknown

  then(answered: (value: unknown) => void, failed: (error: unknown) => void): void {
    this.answered = answered
    this.failed = failed
  }

  /** For errors, tracing and the slot of a cluster. */
  get args(): string[] {
    const { script, scriptKeys, scriptArgs } = this
    const lead = script === null ? NONE : [script, `${scriptKeys.length}`]
    return (this.whole ??= [...lead, ...scriptKeys, ...scriptArgs])
  }

  /** The promise that `sendCommand` returns: tracers wait for it. */
  get promise(): Promise<unknown> {
    return (this.promised ??= new Promise((resolve, reject) => {
      this.resolvePromise = resolve
      this.rejectPromise = reject
    }))
  }

  // Tracers and Cluster replace both, and call the former ones without `this`.

  get resolve(): (reply: unknown) => void {
    return (reply) => this.settle(reply)
  }

  set resolve(replacement: (reply: unknown) => void) {
    Object.defineProperty(this, 'resolve', { value: replacement, writable: true, configurable: true })
  }

  get reject(): (error: unknown) => void {
    return (error) => this.fail(error)
  }

  set reject(replacement: (error: unknown) => void) {
    Object.defineProperty(this, 'reject', { value: replacement, writable: true, configurable: true })
  }

  toWritable(): string {
    const { scriptKeys, scriptArgs } = this
    const head = headOf(this.name, this.script, scriptKeys.length, scriptArgs.length)
    return `${scriptArgs.reduce(withPart, scriptKeys.reduce(withPart, head))}\r\n`
  }

  /** Writes a command in its place, whose answer says nothing: ioredis expects one for each that it writes. */
  protected heldBack(): string {
    this.resolve = this.reject = () => this.fail(new Error('Not sent again: Redis refuses the database.'))
    return '*1\r\n$4\r\nPING\r\n'
  }

  private settle(reply: unknown): void {
    if (this.isSettled) {
      return
    }
    let value: unknown
    try {
      value = this.transformReply(reply)
    } catch (error) {
      this.fail(error)
      return
    }
    this.isResolved = true
    this.isSettled = true
    this.resolvePromise?.(value)
    this.answered?.(value)
  }

  /**
   * The consumer is called as for a rejected promise, not at once: ioredis ends commands before it emits the event that raises
   * the port's connection epoch, and that must have happened by then.
   */
  private fail(error: unknown): void {
    if (this.isSettled) {
      return
    }
    this.isSettled = true
    this.promise.then(ignore, (reason: unknown) => this.failed?.(reason))
    this.rejectPromise?.(error)
  }
}

/** Lean commands that have the rest of the model's methods. */
function leanCommandLike(
  model: IoredisCommand,
  database: Database | null,
): new (...sending: ConstructorParameters<typeof LeanCommand>) => LeanCommand {
  const base = Object.getPrototypeOf(model) as object
  class SentScript extends LeanCommand {
    readonly replyEncoding = model.replyEncoding
    declare transformReply: (reply: unknown) => unknown

    override toWritable(): string {
      return database?.refusal ? this.heldBack() : super.toWritable()
    }
  }
  for (const [name, method] of Object.entries(Object.getOwnPropertyDescriptors(base))) {
    if (!(name in LeanCommand.prototype)) {
      Object.defineProperty(SentScript.prototype, name, method)
    }
  }
  return SentScript
}
