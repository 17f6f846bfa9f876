import type { IoredisScripting } from './client.js'
import { scanArguments, type KeyScan } from '../key-scan.js'

/** Optional: wrappers of a client without these methods are accepted. */
interface Informant {
  info?: (section: string) => Promise<unknown>
  scan?: (...args: string[]) => Promise<unknown>
  ping?: () => Promise<unknown>
}

export interface Sender extends IoredisScripting {
  info(section: string): Promise<unknown> | undefined
  readonly scan: KeyScan
  ping(): Promise<unknown>
}

/**
 * Calls the client's commands without its `keyPrefix` and auto-pipelining. Its prefix would go before the whole key,
 * outside the hash tag, and not where Redisson's name mapper puts it (here it is part of the lock's name). Its
 * auto-pipelining would gather commands that are gathered already. Both are options that these methods read from `this`.
 */
export function plainSender(client: IoredisScripting & { sendCommand(command: never): unknown }): Sender {
  const plain = { options: {}, sendCommand: (command: never) => client.sendCommand(command) }
  return {
    evalsha: (...args) => client.evalsha.apply(plain as unknown as IoredisScripting, args),
    eval: (...args) => client.eval.apply(plain as unknown as IoredisScripting, args),
    info: (section) => (client as Informant).info?.call(plain, section),
    ping: () => (client as Informant).ping?.call(plain) ?? Promise.resolve(),
    scan: async (...step) => {
      const { scan } = client as Informant
      if (!scan) {
        throw new Error(
          'This Redis client has no scan(), which inspectAll() needs: pass a client of ioredis or node-redis.',
        )
      }
      return scan.apply(plain, scanArguments(...step))
    },
  }
}

export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}

export function ignore(): void {
  // Connection errors show in the connection's state and in failing commands.
}
