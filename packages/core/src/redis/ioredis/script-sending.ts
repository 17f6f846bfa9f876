import type { Answer } from '@holdfast/waiter'
import type { IoredisScripting } from './client.js'
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

const NONE: readonly string[] = []

interface TimeLimits {
  readonly commandTimeout?: unknown
  readonly redisOptions?: { readonly commandTimeout?: unknown }
}

/** Sends commands whose answer takes one consumer, attached at once and called in the same turn as the reply. */
export interface ScriptSending {
  script(
    name: 'evalsha' | 'eval',
    script: string,
    keys: readonly string[],
    args: readonly string[],
  ): Answer<unknown>
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
export function scriptSending(client: CommandClient, sender: Sender): ScriptSending {
  const { commandTimeout, redisOptions }: TimeLimits = client.options ?? {}
  const isTimed = commandTimeout !== undefined || redisOptions?.commandTimeout !== undefined
  const model = isTimed || Object.hasOwn(client, 'evalsha') ? null : modelCommand(client)
  if (!model) {
    return {
      script: (name, script, keys, args) => sender[name](script, keys.length, ...keys, ...args),
      info: (section, node) => (node ?? sender).info(section) as Promise<unknown>,
    }
  }
  const Command = leanCommandLike(model)
  return {
    script(name, script, keys, args) {
      const command = new Command(name, script, keys, args)
      client.sendCommand(command as never)
      return command
    },
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

  /** Of ioredis: it decodes what the server sent. */
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

  /** What `sendCommand` returns: tracers wait for it. */
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
): new (...sending: ConstructorParameters<typeof LeanCommand>) => LeanCommand {
  const base = Object.getPrototypeOf(model) as object
  class SentScript extends LeanCommand {
    readonly replyEncoding = model.replyEncoding
    declare transformReply: (reply: unknown) => unknown
  }
  for (const [name, method] of Object.entries(Object.getOwnPropertyDescriptors(base))) {
    if (!(name in LeanCommand.prototype)) {
      Object.defineProperty(SentScript.prototype, name, method)
    }
  }
  return SentScript
}
