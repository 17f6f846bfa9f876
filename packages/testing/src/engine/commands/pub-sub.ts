import { ErrorReply, wrongCount, type Reply } from '../reply.js'
import { allKeys, command, firstKey, noKeys, type Command, type Data } from './command.js'

function introspect([word = '', ...args]: readonly string[], { pubSub }: Data): Reply {
  const subcommand = word.toLowerCase()
  const kind = subcommand.startsWith('shard') ? 'sharded' : 'global'
  switch (subcommand) {
    case 'numsub':
    case 'shardnumsub':
      return args.flatMap((channel) => [channel, pubSub.heardBy(kind, channel)])
    case 'channels':
    case 'shardchannels':
      return args.length > 1 ? fail(unknownSubcommand(word)) : pubSub.heard(kind, args[0])
    case 'numpat':
      return args.length > 0 ? fail(wrongCount('pubsub|numpat')) : pubSub.patternCount
    default:
      return fail(new ErrorReply(`ERR unknown subcommand '${word.slice(0, 128)}'. Try PUBSUB HELP.`))
  }
}

const unknownSubcommand = (word: string): ErrorReply =>
  new ErrorReply(
    `ERR unknown subcommand or wrong number of arguments for '${word.slice(0, 128)}'. Try PUBSUB HELP.`,
  )

function fail(error: ErrorReply): never {
  throw error
}

const published = { args: 2, keys: noKeys, channels: firstKey, flags: ['loading'] } as const
/** A subscriber's own: `Connection` answers them. */
const own = { args: [0, Infinity], keys: noKeys, flags: ['noscript', 'loading'] } as const
const named = { ...own, args: [1, Infinity], channels: allKeys } as const
const ofConnection = (): never => {
  throw new Error('A connection answers this command by itself.')
}

export const publishing: readonly Command[] = [
  command('publish', published, ([channel = '', payload = ''], { pubSub }) =>
    pubSub.publish('global', channel, payload),
  ),
  command('spublish', published, ([channel = '', payload = ''], { pubSub }) =>
    pubSub.publish('sharded', channel, payload),
  ),
  command('pubsub', { args: [1, Infinity], keys: noKeys, flags: ['loading'] }, introspect),
  command('subscribe', named, ofConnection),
  command('ssubscribe', named, ofConnection),
  command('psubscribe', named, ofConnection),
  command('unsubscribe', own, ofConnection),
  command('sunsubscribe', own, ofConnection),
  command('punsubscribe', own, ofConnection),
]
