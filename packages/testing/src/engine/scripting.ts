import { createHash } from 'node:crypto'
import { baseLibrary, described } from './lua/base.js'
import { compile } from './lua/compiler.js'
import { jsonLibrary } from './lua/json.js'
import { LuaSyntaxError } from './lua/lexer.js'
import { toText as textOf } from './lua/numbers.js'
import {
  first,
  LuaError,
  LuaTable,
  NOTHING,
  position,
  typeOf,
  type LuaFunction,
  type LuaValue,
} from './lua/values.js'
import { ErrorReply, type Reply } from './reply.js'
import { toArgument, toLua, toReply } from './script-values.js'

/** Runs a command for a script. An error is a reply, not thrown. */
export type CallFromScript = (args: readonly string[]) => Reply

export interface ScriptArguments {
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** Libraries that Redis gives to scripts beside those here. */
const NOT_HERE = new Set(
  (
    'bit cmsgpack collectgarbage coroutine gcinfo getmetatable load loadstring newproxy os rawset setmetatable ' +
    'struct xpcall'
  ).split(' '),
)
const LOCKED = 'Attempt to modify a readonly table'
/** 7.0.15, the version whose answers are imitated. */
export const VERSION = '7.0.15'
const VERSION_NUMBER = 0x0007000f

/** Each script of Holdfast says its name in its first line, for those who look at Redis. */
export function nameIn(text: string): string | undefined {
  return /^-- Holdfast: (\S+)/.exec(text)?.[1]
}

export function sha1Of(bytes: string): string {
  return createHash('sha1').update(bytes, 'latin1').digest('hex')
}

/** Scripts that the server knows, and how it runs them. */
export class Scripting {
  private readonly known = new Map<string, LuaFunction>()
  private readonly names = new Map<string, string>()
  private readonly globals = globalsWith(this.redisLibrary())
  private call: CallFromScript = () => null

  has(sha1: string): boolean {
    return this.known.has(sha1)
  }

  /** The name in the first line of a script; undefined: none, or not known. */
  nameOf(sha1: string): string | undefined {
    return this.names.get(sha1)
  }

  flush(): void {
    this.known.clear()
    this.names.clear()
  }

  /** Compiles a script unless it is known. @throws ErrorReply it is no Lua 5.1 */
  load(text: string): string {
    const sha1 = sha1Of(text)
    if (!this.known.has(sha1)) {
      this.known.set(sha1, this.compiled(text))
      const name = nameIn(text)
      if (name !== undefined) {
        this.names.set(sha1, name)
      }
    }
    return sha1
  }

  private compiled(text: string): LuaFunction {
    try {
      return compile(text, this.globals)
    } catch (error) {
      if (error instanceof LuaSyntaxError) {
        throw new ErrorReply(`ERR Error compiling script (new function): ${error.message}`)
      }
      throw error
    }
  }

  /** Runs a script that is known. @throws ErrorReply it is not known, or it failed */
  run(sha1: string, { keys, args }: ScriptArguments, call: CallFromScript): Reply {
    const script = this.known.get(sha1)
    if (!script) {
      throw new ErrorReply('NOSCRIPT No matching script. Please use EVAL.')
    }
    this.globals.set('KEYS', LuaTable.of(keys))
    this.globals.set('ARGV', LuaTable.of(args))
    this.call = call
    try {
      return toReply(first(script()))
    } catch (error) {
      throw failure(error, sha1)
    }
  }

  private redisLibrary(): LuaTable {
    const library = LuaTable.from({
      call: (...values) => {
        const reply = this.command(values)
        return reply instanceof ErrorReply ? refuse(reply) : toLua(reply)
      },
      pcall: (...values) => toLua(this.command(values)),
      sha1hex: (...values) => {
        const [text] = values
        // To C, a value that is no text has no length.
        return values.length === 1
          ? sha1Of(textOf(text) ?? '')
          : refuse(new ErrorReply('ERR wrong number of arguments'))
      },
      error_reply: (text) => LuaTable.from({ err: errorText(text) }),
      status_reply: (text) =>
        typeof text === 'string'
          ? LuaTable.from({ ok: text })
          : LuaTable.from({ err: 'ERR wrong number or type of arguments' }),
      log: () => NOTHING,
      // Every script is replicated by what it does, since Redis 5.
      replicate_commands: () => true,
      ...{ LOG_DEBUG: 0, LOG_VERBOSE: 1, LOG_NOTICE: 2, LOG_WARNING: 3 },
      ...{ REDIS_VERSION: VERSION, REDIS_VERSION_NUM: VERSION_NUMBER },
    })
    library.locked = LOCKED
    return library
  }

  private command(values: readonly LuaValue[]): Reply {
    if (values.length === 0) {
      return new ErrorReply('ERR Please specify at least one argument for this redis lib call')
    }
    const args: string[] = []
    for (const value of values) {
      const argument = toArgument(value)
      if (argument === null) {
        return new ErrorReply('ERR Lua redis lib command arguments must be strings or integers')
      }
      args.push(argument)
    }
    return this.call(args)
  }
}

function globalsWith(redis: LuaTable): LuaTable {
  const globals = LuaTable.from({ ...baseLibrary, cjson: jsonLibrary, redis })
  globals.set('_G', globals)
  globals.locked = LOCKED
  globals.missing = (key) => {
    const name = toText(key)
    return NOT_HERE.has(name)
      ? `The engine for tests has no '${name}': the scripts of Holdfast do not use it`
      : `Script attempted to access nonexistent global variable '${name}'`
  }
  return globals
}

function refuse(reply: ErrorReply): never {
  throw new LuaError(LuaTable.from({ err: reply.message }), position.line)
}

function errorText(text: LuaValue): string {
  if (typeof text !== 'string') {
    return 'ERR wrong number or type of arguments'
  }
  // One word is a message, not a code.
  const bare = text.replace(/^-/, '').replace(/[\r\n]+$/, '')
  return bare.includes(' ') ? bare : `ERR ${bare}`
}

/** The error that the caller of a script gets; a failure of the engine itself stays what it is. */
function failure(error: unknown, sha1: string): unknown {
  if (error instanceof RangeError) {
    return new ErrorReply(`ERR stack overflow script: ${sha1}, on @user_script:${position.line}.`)
  }
  if (!(error instanceof LuaError)) {
    return error
  }
  const { value, line } = error
  const told = value instanceof LuaTable ? value.get('err') : `ERR ${described(value)}`
  return new ErrorReply(
    `${typeof told === 'string' ? told : 'ERR unknown error'} script: ${sha1}, on @user_script:${line}.`,
  )
}

function toText(value: LuaValue): string {
  return toArgument(value) ?? typeOf(value)
}
