import type { Command } from './commands/command.js'
import { glob, type Glob } from './glob.js'
import { ErrorReply } from './reply.js'

/** Permissions of a user, as ACL SETUSER says them. An absent one is allowed. */
export interface Permissions {
  /** Commands that are refused, in small letters. */
  readonly deniedCommands?: readonly string[] | undefined
  /** Patterns of the keys that are allowed. */
  readonly keys?: readonly string[] | undefined
  /** Patterns of the channels that are allowed. */
  readonly channels?: readonly string[] | undefined
}

type Refused = 'command' | 'key' | 'channel'

/** Null: any name is allowed, as by `*`, the empty one, too. */
function globs(patterns: readonly string[] | undefined): readonly Glob[] | null {
  return !patterns || patterns.includes('*') ? null : patterns.map(glob)
}

/** One user's rules, compiled. */
export class AccessRules {
  private readonly denied: ReadonlySet<string>
  private readonly keys: readonly Glob[] | null
  private readonly channels: readonly Glob[] | null

  constructor({ deniedCommands = [], keys, channels }: Permissions) {
    this.denied = new Set(deniedCommands)
    this.keys = globs(keys)
    this.channels = globs(channels)
  }

  /** Null: it may. */
  refusal(command: Command, args: readonly string[], isFromScript: boolean): ErrorReply | null {
    const refused = this.refused(command, args)
    if (refused === null) {
      return null
    }
    return new ErrorReply(isFromScript ? FROM_SCRIPT[refused] : plain(refused, command.name))
  }

  private refused(command: Command, args: readonly string[]): Refused | null {
    if (this.denied.has(command.name)) {
      return 'command'
    }
    const isIn = (patterns: readonly Glob[] | null) => (name: string) =>
      patterns === null || patterns.some((each) => each.test(name))
    if (!command.keysOf(args).every(isIn(this.keys))) {
      return 'key'
    }
    return command.channelsOf(args).every(isIn(this.channels)) ? null : 'channel'
  }
}

function plain(refused: Refused, name: string): string {
  return refused === 'command'
    ? `NOPERM this user has no permissions to run the '${name}' command`
    : `NOPERM this user has no permissions to access one of the ${refused}s used as arguments`
}

const FROM_SCRIPT: Readonly<Record<Refused, string>> = {
  command: "ERR The user executing the script can't run this command or subcommand",
  key: "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
  channel: "ERR The user executing the script can't publish to the channel mentioned in the command",
}
