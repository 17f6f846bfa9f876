import type { ChannelKind, PubSub, Subscriber } from './pub-sub.js'
import type { AccessRules } from './permissions.js'
import { ErrorReply, OK, replyOf, Status, syntaxError, type Reply } from './reply.js'
import type { Command } from './commands/command.js'

/**
 * Hears what is published on the channels that a connection subscribes to. Texts have a character for each byte.
 * `pattern`: the one by which it was heard, once for each.
 */
export type OnMessage = (kind: ChannelKind, channel: string, payload: string, pattern?: string) => void

/** Services that a connection asks its server for. */
export interface ConnectionServer {
  readonly pubSub: PubSub
  /** The command, or the error that Redis answers instead; not run yet. */
  admit(args: readonly string[], connection: Connection): Command | ErrorReply
  run(command: Command, args: readonly string[], connection: Connection): Reply
}

const SUBSCRIBING: Readonly<Record<string, ChannelKind | 'pattern'>> = {
  ...{ subscribe: 'global', ssubscribe: 'sharded', psubscribe: 'pattern' },
  ...{ unsubscribe: 'global', sunsubscribe: 'sharded', punsubscribe: 'pattern' },
}

/** One client's: its subscriptions, its name, its rights. */
export class Connection implements Subscriber {
  private static made = 0
  readonly id = (Connection.made += 1)
  name = ''

  constructor(
    private readonly server: ConnectionServer,
    private readonly onMessage: OnMessage,
    private readonly rulesNow: () => AccessRules | null,
  ) {}

  /** Permissions of its user, which may change; null: everything is allowed. */
  get rules(): AccessRules | null {
    return this.rulesNow()
  }

  /**
   * Runs a command; its words have a character for each byte. An error is a reply. Of SUBSCRIBE and its like the reply
   * is a list with the confirmation of each channel, which Redis sends one by one.
   */
  command(words: readonly string[]): Reply {
    const command = this.server.admit(words, this)
    if (command instanceof ErrorReply) {
      return command
    }
    const args = words.slice(1)
    const what = SUBSCRIBING[command.name]
    if (what !== undefined) {
      return this.subscription(command.name, what, args)
    }
    const isOwn = OF_CONNECTION.has(command.name)
    return replyOf(() => (isOwn ? this.own(command.name, args) : this.server.run(command, args, this)))
  }

  message(kind: ChannelKind, channel: string, payload: string, pattern?: string): void {
    this.onMessage(kind, channel, payload, pattern)
  }

  /** The server forgets what it subscribed to. */
  close(): void {
    this.server.pubSub.leave(this)
  }

  private subscription(name: string, what: ChannelKind | 'pattern', channels: readonly string[]): Reply {
    const { pubSub } = this.server
    const isLeaving = name.includes('unsub')
    const held = what === 'pattern' ? pubSub.patternsOf(this) : pubSub.channelsOf(what, this)
    const wanted = channels.length > 0 ? channels : held
    if (wanted.length === 0) {
      return [[name, null, this.subscriptionCount(what)]]
    }
    return wanted.map((channel) => {
      if (what === 'pattern') {
        const change = isLeaving ? 'unsubscribePattern' : 'subscribePattern'
        pubSub[change](channel, this)
      } else {
        pubSub[isLeaving ? 'unsubscribe' : 'subscribe'](what, channel, this)
      }
      return [name, channel, this.subscriptionCount(what)]
    })
  }

  private subscriptionCount(what: ChannelKind | 'pattern'): number {
    const { pubSub } = this.server
    return what === 'sharded'
      ? pubSub.channelsOf('sharded', this).length
      : pubSub.channelsOf('global', this).length + pubSub.patternsOf(this).length
  }

  private own(name: string, args: readonly string[]): Reply {
    return name === 'client' ? this.client(args) : this.reset()
  }

  private client([word = '', ...args]: readonly string[]): Reply {
    const [name = ''] = args
    switch (word.toLowerCase()) {
      case 'setname':
        if (/[^!-~]/.test(name)) {
          throw new ErrorReply('ERR Client names cannot contain spaces, newlines or special characters.')
        }
        this.name = name
        return OK
      case 'getname':
        return this.name === '' ? null : this.name
      case 'id':
        return this.id
      case 'setinfo':
        return args.length === 2 ? OK : fail(syntaxError())
      default:
        return fail(new ErrorReply(`ERR unknown subcommand '${word.slice(0, 128)}'. Try CLIENT HELP.`))
    }
  }

  private reset(): Reply {
    this.close()
    this.name = ''
    return new Status('RESET')
  }
}

function fail(error: ErrorReply): never {
  throw error
}

/** Commands that a connection answers by itself. */
export const OF_CONNECTION: ReadonlySet<string> = new Set(['client', 'reset'])
