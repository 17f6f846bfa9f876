import type { IoredisScripting } from './client.js'
import { hashesIn, type KeyScan } from '../key-scan.js'

/** Not part of what is asked of a client: a wrapper without it serves as well. */
interface Informant {
  info?: (section: string) => Promise<unknown>
  scan?: (...args: string[]) => Promise<unknown>
}

export interface Sender extends IoredisScripting {
  info(section: string): Promise<unknown> | undefined
  readonly scan: KeyScan
}

/**
 * The commands of a client, past what it would do to them. Its prefix goes before the whole key: outside the hash
 * tag, and not where Redisson's name mapper puts one (here it is part of the lock's name). Its auto-pipelining
 * would gather what has been gathered already. Both are options that these methods look for in `this`.
 */
export function plainSender(client: IoredisScripting & { sendCommand(command: never): unknown }): Sender {
  const plain = { options: {}, sendCommand: (command: never) => client.sendCommand(command) }
  return {
    evalsha: (...args) => client.evalsha.apply(plain as unknown as IoredisScripting, args),
    eval: (...args) => client.eval.apply(plain as unknown as IoredisScripting, args),
    info: (section) => (client as Informant).info?.call(plain, section),
    scan: async (...step) => {
      const { scan } = client as Informant
      if (!scan) {
        throw new Error('This Redis client has no scan().')
      }
      return scan.apply(plain, hashesIn(...step))
    },
  }
}

export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}

export function ignore(): void {
  // Connection errors show in the state of the connection and in the commands that fail.
}
