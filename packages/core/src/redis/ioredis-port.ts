import { endConnection, type IoredisClient } from './ioredis-client.js'
import { IoredisMessages } from './ioredis-messages.js'
import type { ConnectionState, RedisPort } from './redis-port.js'
import { Subscriptions } from './subscriptions.js'

/** Not part of IoredisClient: a client or wrapper without it serves as well. */
interface Informant {
  info?: (section: string) => Promise<unknown>
}

interface Sender extends Pick<IoredisClient, 'evalsha' | 'eval'> {
  info(section: string): Promise<unknown> | undefined
}

/** RedisPort over one ioredis connection, standalone or behind Sentinel. */
export class IoredisPort implements RedisPort {
  connectionEpoch = 0
  readonly advice = ''
  readonly keyPrefix: string
  readonly messages: Subscriptions
  private readonly sender: Sender
  private readonly listeners = new Set<() => void>()

  constructor(
    private readonly client: IoredisClient,
    /** Whether `close` ends the connection too. */
    private readonly ownsClient: boolean,
  ) {
    this.keyPrefix = client.options.keyPrefix ?? ''
    this.sender = plainSender(client)
    this.messages = new Subscriptions((events) => new IoredisMessages(client, events))
    client.on('close', this.onClose)
    client.on('ready', this.onChange)
    client.on('end', this.onChange)
    if (ownsClient) {
      client.on('error', ignore)
    }
  }

  get state(): ConnectionState {
    const { status } = this.client
    if (status === 'ready') {
      return 'ready'
    }
    if (status === 'wait') {
      // lazyConnect: nobody else will ask for the connection. How it went is told by events.
      this.client.connect().catch(ignore)
    }
    return status === 'end' ? 'ended' : 'connecting'
  }

  onStateChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.sender.evalsha(sha1, keys.length, ...keys, ...args)
  }

  eval(lua: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.sender.eval(lua, keys.length, ...keys, ...args)
  }

  info(section: string): Promise<unknown> | undefined {
    return this.client.status === 'ready' ? this.sender.info(section) : undefined
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof Error && error.name === 'ReplyError'
  }

  async close(): Promise<void> {
    this.client.off('close', this.onClose)
    this.client.off('ready', this.onChange)
    this.client.off('end', this.onChange)
    this.listeners.clear()
    await this.messages.close()
    if (this.ownsClient && this.client.status !== 'end') {
      await endConnection(this.client)
    }
  }

  private readonly onChange = (): void => {
    for (const listener of [...this.listeners]) {
      listener()
    }
  }

  /** What was in flight is sent again by ioredis after the reconnect; the first copy may have run, or still may. */
  private readonly onClose = (): void => {
    this.connectionEpoch += 1
    this.onChange()
  }
}

/**
 * The commands of a client, past what it would do to them. Its prefix goes before the whole key: outside the hash
 * tag, and not where Redisson's name mapper puts one (here it is part of the lock's name). Its auto-pipelining
 * would gather what has been gathered already. Both are options that these methods look for in `this`.
 */
function plainSender(client: IoredisClient): Sender {
  const plain = { options: {}, sendCommand: (command: never) => client.sendCommand(command) }
  return {
    evalsha: (...args) => client.evalsha.apply(plain as IoredisClient, args),
    eval: (...args) => client.eval.apply(plain as IoredisClient, args),
    info: (section) => (client as Informant).info?.call(plain, section),
  }
}

function ignore(): void {
  // Connection errors show in the state of the connection and in the commands that fail.
}
