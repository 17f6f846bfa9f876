import type { IoredisScripting } from './client.js'
import { scriptOf, tell, type Receiver, type RunBy, type ScriptRun } from '../script-run.js'
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

interface TimeLimits {
  readonly commandTimeout?: unknown
  readonly redisOptions?: { readonly commandTimeout?: unknown }
}

/** Sends commands, whose receivers are told in the same turn as the reply. */
export interface ScriptSending extends Pick<ScriptTransport, 'run'> {
  /** Scripts are sent behind what ioredis gathers, later than they are given here. */
  readonly isLate: boolean
  /** Here, so that its answer comes before those of scripts that are sent after it. */
  info(section: string, receiver: Receiver, node?: InformedClient): boolean
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
  const sending = model ? leanSending(client, model, database) : methodSending(sender)
  return pipelines ? { ...sending, isLate: true, run: runBehind(pipelines, sending.run) } : sending
}

/** Sends behind what is gathered, unless its caller has given up by then. */
function runBehind(pipelines: AutoPipelines, run: ScriptSending['run']): ScriptSending['run'] {
  return (script, by, receiver) =>
    pipelines.behind(script.keys[0], () => {
      if (receiver.isWanted()) {
        run(script, by, receiver)
      } else {
        receiver.failed(new Error('Given up before it was sent.'))
      }
    })
}

function methodSending(sender: Sender): ScriptSending {
  return {
    isLate: false,
    run(run, by, receiver) {
      const { keys, args } = run
      tell(receiver, sender[by](scriptOf(run, by), keys.length, ...keys, ...args))
    },
    info(section, receiver, node) {
      const answer = (node ?? sender).info(section) as Promise<unknown> | undefined
      if (answer) {
        tell(receiver, answer)
      }
      return answer !== undefined
    },
  }
}

function leanSending(client: CommandClient, model: IoredisCommand, database: Database | null): ScriptSending {
  const Command = leanCommandLike(model)
  const kind = { model, database }
  return {
    isLate: false,
    run: (run, by, receiver) => void client.sendCommand(new Command(kind, receiver, by, run) as never),
    info(section, receiver, node) {
      const to = node ?? client
      if (!to.info) {
        return false
      }
      const words = { script: null, keys: [], args: [section] }
      to.sendCommand(new Command(kind, receiver, 'info', words) as never)
      return true
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

interface Words extends Pick<ScriptRun, 'keys' | 'args'> {
  readonly script: ScriptRun['script'] | null
}

/** The commands of one client. */
interface CommandKind {
  readonly model: IoredisCommand
  readonly database: Database | null
}

class LeanCommand {
  // Written by ioredis: fields that exist from the start keep one shape for all commands.
  isTraced = false
  isSettled = false
  protocol = 2
  replyMapping = 'legacy'
  /** `sendCommand` returns it: tracers wait for it. */
  readonly promise: Promise<unknown>
  private readonly resolvePromise: (value: unknown) => void
  private readonly rejectPromise: (error: unknown) => void

  constructor(
    private readonly kind: CommandKind,
    private readonly receiver: Receiver,
    readonly name: RunBy | 'info',
    private readonly words: Words,
  ) {
    let resolvePromise!: (value: unknown) => void
    let rejectPromise!: (error: unknown) => void
    this.promise = new Promise((resolve, reject) => {
      resolvePromise = resolve
      rejectPromise = reject
    })
    this.resolvePromise = resolvePromise
    this.rejectPromise = rejectPromise
  }

  /** Its text or digest; null: it runs none. */
  private get script(): string | null {
    const { script } = this.words
    return script && (this.name === 'eval' ? script.lua : script.sha1)
  }

  get replyEncoding(): unknown {
    return this.kind.model.replyEncoding
  }

  /** For errors and tracing. */
  get args(): string[] {
    const { keys, args } = this.words
    const { script } = this
    return [...(script === null ? [] : [script, `${keys.length}`]), ...keys, ...args]
  }

  /** For the slot of a cluster. */
  getKeys(): readonly string[] {
    return this.words.keys
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
    const { keys, args } = this.words
    if (this.kind.database?.refusal) {
      return this.heldBack()
    }
    const head = headOf(this.name, this.script, keys.length, args.length)
    return `${args.reduce(withPart, keys.reduce(withPart, head))}\r\n`
  }

  /** Writes a command in its place, whose answer says nothing: ioredis expects one for each that it writes. */
  private heldBack(): string {
    this.resolve = this.reject = () => this.fail(new Error('Not sent again: Redis refuses the database.'))
    return '*1\r\n$4\r\nPING\r\n'
  }

  private settle(reply: unknown): void {
    if (this.isSettled) {
      return
    }
    let value: unknown
    try {
      value = this.kind.model.transformReply.call(this, reply)
    } catch (error) {
      this.fail(error)
      return
    }
    this.isSettled = true
    this.resolvePromise(value)
    this.receiver.answered(value)
  }

  /**
   * The receiver is told as of a rejected promise, not at once: ioredis ends commands before it emits the event that raises
   * the port's connection epoch, and that must have happened by then.
   */
  private fail(error: unknown): void {
    if (this.isSettled) {
      return
    }
    this.isSettled = true
    this.promise.then(ignore, (reason: unknown) => this.receiver.failed(reason))
    this.rejectPromise(error)
  }
}

/** Commands that have the rest of the model's methods. */
function leanCommandLike(model: IoredisCommand): typeof LeanCommand {
  class SentScript extends LeanCommand {}
  for (const [name, method] of Object.entries(
    Object.getOwnPropertyDescriptors(Object.getPrototypeOf(model) as object),
  )) {
    if (!(name in LeanCommand.prototype)) {
      Object.defineProperty(SentScript.prototype, name, method)
    }
  }
  return SentScript
}
