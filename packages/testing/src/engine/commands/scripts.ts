import type { CallFromScript, Scripting } from '../scripting.js'
import { ErrorReply, OK, wrongCount, type Reply } from '../reply.js'
import { command, count, noKeys, type Command, type KeysOf } from './command.js'

const keysOf: KeysOf = ([, number, ...rest]) => {
  // Before the number is refused, rights are asked for: by what C's atoi makes of it.
  const wanted = parseInt(number ?? '', 10)
  return wanted > 0 && wanted <= rest.length ? rest.slice(0, wanted) : []
}

function script([word = '', ...args]: readonly string[], scripting: Scripting): Reply {
  const [text = ''] = args
  const subcommand = word.toLowerCase()
  switch (subcommand) {
    case 'load':
      return args.length === 1 ? scripting.load(text) : fail(wrongCount('script|load'))
    case 'exists':
      return args.length > 0
        ? args.map((sha1) => (scripting.has(sha1.toLowerCase()) ? 1 : 0))
        : fail(wrongCount('script|exists'))
    case 'flush':
      if (args.length > 1 || !['', 'SYNC', 'ASYNC'].includes(text.toUpperCase())) {
        fail(new ErrorReply('ERR SCRIPT FLUSH only support SYNC|ASYNC option'))
      }
      scripting.flush()
      return OK
    default:
      return fail(new ErrorReply(`ERR unknown subcommand '${word.slice(0, 128)}'. Try SCRIPT HELP.`))
  }
}

function fail(error: ErrorReply): never {
  throw error
}

/** @param callFor what commands of one run of a script go through */
export function scriptCommands(scripting: Scripting, callFor: () => CallFromScript): readonly Command[] {
  const run = (sha1: string, [number, ...rest]: readonly string[]): Reply => {
    const wanted = count(number)
    if (wanted > rest.length) {
      throw new ErrorReply("ERR Number of keys can't be greater than number of args")
    }
    if (wanted < 0) {
      throw new ErrorReply("ERR Number of keys can't be negative")
    }
    const keys = rest.slice(0, wanted)
    return scripting.run(sha1, { keys, args: rest.slice(wanted) }, callFor())
  }
  const runs = { args: [2, Infinity], keys: keysOf, flags: ['noscript'] } as const
  return [
    command('eval', runs, ([text = '', ...rest]) => {
      // A wrong number of keys is told before the script is looked at.
      if (count(rest[0]) > rest.length - 1 || count(rest[0]) < 0) {
        return run('', rest)
      }
      return run(scripting.load(text), rest)
    }),
    command('evalsha', runs, ([sha1 = '', ...rest]) => {
      // Redis refuses a bad digest before it looks at the number of keys.
      return sha1.length === 40
        ? run(sha1.toLowerCase(), rest)
        : scripting.run(sha1, { keys: [], args: [] }, callFor())
    }),
    command('script', { args: [1, Infinity], keys: noKeys, flags: ['noscript'] }, (args) =>
      script(args, scripting),
    ),
  ]
}
