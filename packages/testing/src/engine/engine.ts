import { toBytes } from './bytes.js'
import { command, noKeys, type Command, type Data } from './commands/command.js'
import { hashes } from './commands/hashes.js'
import { keys } from './commands/keys.js'
import { lists } from './commands/lists.js'
import { publishing } from './commands/pub-sub.js'
import { scriptCommands } from './commands/scripts.js'
import { serverCommands } from './commands/server.js'
import { sortedSets } from './commands/sorted-sets.js'
import { strings } from './commands/strings.js'
import { Connection, OF_CONNECTION, type ConnectionServer, type OnMessage } from './connection.js'
import { Keyspace, type ServerClock } from './keyspace.js'
import type { AccessRules } from './permissions.js'
import { PubSub } from './pub-sub.js'
import { ErrorReply, replyOf, wrongCount, type Reply } from './reply.js'
import { Scripting, type CallFromScript } from './scripting.js'
import { isOutOfMemory, type ServerState } from './server-state.js'

/** Characters of an unknown command and its arguments in its error. */
const MOST_SHOWN = 128

export interface EngineOptions {
  readonly clock: ServerClock
  /** The identity of the server in INFO. */
  readonly runId: string
}

/**
 * The part of Redis that Holdfast uses, in the process: commands, expiry, scripts, messages, and the errors of a
 * server in trouble. Everything is answered at once: whoever wants a network puts it in front.
 */
export class Engine implements ConnectionServer {
  readonly pubSub = new PubSub()
  readonly keyspace: Keyspace
  readonly state: ServerState
  readonly scripting = new Scripting()
  private readonly data: Data
  private readonly commands: ReadonlyMap<string, Command>
  private readonly own: Connection
  /** Whose command a script runs for. */
  private asking: Connection

  constructor({ clock, runId }: EngineOptions) {
    this.keyspace = new Keyspace(clock)
    this.state = { runId, isLoading: false, isReplica: false, maxMemory: 0, maxMemoryPolicy: 'noeviction' }
    this.data = { keyspace: this.keyspace, pubSub: this.pubSub, clock }
    this.own = this.connect(() => undefined)
    this.asking = this.own
    const all = [
      ...[strings, hashes, lists, sortedSets, keys, publishing, serverCommands(this.state)].flat(),
      ...scriptCommands(this.scripting, () => this.callFromScript()),
      ...[...OF_CONNECTION].map((name) =>
        command(
          name,
          { args: name === 'reset' ? 0 : [1, Infinity], keys: noKeys, flags: ['noscript', 'loading'] },
          () => null,
        ),
      ),
    ]
    this.commands = new Map(all.map((each) => [each.name, each]))
  }

  /** Runs a command by name and arguments, of a user who may do everything. An error is a reply. */
  command(words: readonly (string | Uint8Array)[]): Reply {
    return this.own.command(words.map(toBytes))
  }

  /**
   * A connection, with subscriptions of its own.
   * @param rulesNow what its user may do, asked for each command; null: everything
   */
  connect(onMessage: OnMessage, rulesNow: () => AccessRules | null = () => null): Connection {
    return new Connection(this, onMessage, rulesNow)
  }

  admit([name = '', ...args]: readonly string[], { rules }: Connection): Command | ErrorReply {
    const known = this.commands.get(name.toLowerCase())
    if (!known) {
      return new ErrorReply(
        `ERR unknown command '${shortened(name, MOST_SHOWN)}', with args beginning with: ${shown(args)}`,
      )
    }
    if (args.length < known.least || (args.length > known.most && known.most === known.least)) {
      return wrongCount(known.name)
    }
    return rules?.refusal(known, args, false) ?? this.refusalNow(known) ?? tooMany(known, args) ?? known
  }

  run(wanted: Command, args: readonly string[], connection: Connection): Reply {
    this.asking = connection
    return wanted.run(args, this.data)
  }

  /** The error by which the server's state forbids a command. */
  private refusalNow({ flags }: Command): ErrorReply | null {
    const { isLoading, isReplica } = this.state
    if (isOutOfMemory(this.state) && flags.has('denyoom')) {
      return outOfMemory()
    }
    if (isReplica && flags.has('write')) {
      return readOnly()
    }
    return isLoading && !flags.has('loading')
      ? new ErrorReply('LOADING Redis is loading the dataset in memory')
      : null
  }

  /** For one run of a script: once it has written, it may go on without memory. */
  private callFromScript(): CallFromScript {
    let hasWritten = false
    const { asking } = this
    return ([name = '', ...args]) => {
      const known = this.commands.get(name.toLowerCase())
      if (!known) {
        return new ErrorReply('ERR Unknown Redis command called from script')
      }
      const refusal = this.refusalToScript(known, args, { asking, hasWritten })
      if (refusal) {
        return refusal
      }
      hasWritten ||= known.flags.has('write')
      return replyOf(() => known.run(args, this.data))
    }
  }

  private refusalToScript(
    known: Command,
    args: readonly string[],
    { asking, hasWritten }: { readonly asking: Connection; readonly hasWritten: boolean },
  ): ErrorReply | null {
    const { flags, least, most } = known
    if (args.length < least || (args.length > most && most === least)) {
      return new ErrorReply('ERR Wrong number of args calling Redis command from script')
    }
    if (flags.has('noscript')) {
      return new ErrorReply('ERR This Redis command is not allowed from script')
    }
    const refusal = asking.rules?.refusal(known, args, true)
    if (refusal) {
      return refusal
    }
    if (this.state.isReplica && flags.has('write')) {
      return readOnly()
    }
    return isOutOfMemory(this.state) && !hasWritten && flags.has('denyoom')
      ? outOfMemory()
      : tooMany(known, args)
  }
}

/** Where a command has a least and a most, Redis's table has the least alone: more it refuses when it runs. */
function tooMany({ name, least, most }: Command, args: readonly string[]): ErrorReply | null {
  return args.length > most && most > least ? wrongCount(name) : null
}

/** A text as far as C prints it. */
function shortened(text: string, length: number): string {
  return (text.split('\0', 1)[0] ?? '').slice(0, length)
}

function shown(args: readonly string[]): string {
  let text = ''
  for (const arg of args) {
    text += text.length < MOST_SHOWN ? `'${shortened(arg, MOST_SHOWN - text.length)}' ` : ''
  }
  return text
}

function outOfMemory(): ErrorReply {
  return new ErrorReply("OOM command not allowed when used memory > 'maxmemory'.")
}

function readOnly(): ErrorReply {
  return new ErrorReply("READONLY You can't write against a read only replica.")
}
