import { endConnection, type IoredisClient } from './ioredis-client.js'
import { IoredisMessages } from './ioredis-messages.js'
import type { ConnectionState, RedisPort } from './redis-port.js'

type Sender = Pick<IoredisClient, 'evalsha' | 'eval'>

/** RedisPort over one ioredis connection, standalone or behind Sentinel. */
export class IoredisPort implements RedisPort {
  connectionEpoch = 0
  readonly keyPrefix: string
  readonly messages: IoredisMessages
  private readonly sender: Sender
  private readonly listeners = new Set<() => void>()
  private corked: IoredisClient['stream'] = undefined

  constructor(
    private readonly client: IoredisClient,
    /** Whether `close` ends the connection too. */
    private readonly ownsClient: boolean,
  ) {
    this.keyPrefix = client.options.keyPrefix ?? ''
    this.sender = this.keyPrefix === '' ? client : withoutPrefix(client)
    this.messages = new IoredisMessages(client)
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
    this.gatherWrites()
    return this.sender.evalsha(sha1, keys.length, ...keys, ...args)
  }

  eval(lua: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.sender.eval(lua, keys.length, ...keys, ...args)
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

  /**
   * What leaves in one turn leaves in one write: a write per command costs a system call each, half of what a
   * command costs altogether. (ioredis does this itself for auto-pipelining and for nothing else.)
   */
  private gatherWrites(): void {
    const { stream } = this.client
    if (stream && this.corked !== stream) {
      this.corked = stream
      stream.cork()
      process.nextTick(this.releaseWrites)
    }
  }

  private readonly releaseWrites = (): void => {
    this.corked?.uncork()
    this.corked = undefined
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
 * ioredis would put its prefix before the whole key: outside the hash tag, and not where Redisson's name mapper
 * puts one. The prefix is already part of the lock's name here, so its methods build their commands for a client
 * that has none (and no auto-pipelining, which keeps its queues in the client).
 */
function withoutPrefix(client: IoredisClient): Sender {
  const plain = { options: {}, sendCommand: (command: never) => client.sendCommand(command) }
  return {
    evalsha: (...args) => client.evalsha.apply(plain as IoredisClient, args),
    eval: (...args) => client.eval.apply(plain as IoredisClient, args),
  }
}

function ignore(): void {
  // Connection errors show in the state of the connection and in the commands that fail.
}
