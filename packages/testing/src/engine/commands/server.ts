import { VERSION } from '../scripting.js'
import type { ServerState } from '../server-state.js'
import { ErrorReply, OK, Status, syntaxError, wrongCount, type Reply } from '../reply.js'
import { glob } from '../glob.js'
import { command, count, noKeys, type Command, type Data, type Definition } from './command.js'

const free = { keys: noKeys } as const

function infoSections({ runId, isReplica, isOutOfMemory, isLoading }: ServerState): Record<string, string[]> {
  return {
    Server: [`redis_version:${VERSION}`, 'redis_mode:standalone', `run_id:${runId}`],
    Memory: [`maxmemory:${isOutOfMemory ? 1 : 0}`, 'maxmemory_policy:noeviction'],
    Persistence: [`loading:${isLoading ? 1 : 0}`],
    Replication: [`role:${isReplica ? 'slave' : 'master'}`, 'connected_slaves:0', `master_replid:${runId}`],
  }
}

function info(wanted: readonly string[], state: ServerState): string {
  const names = new Set(wanted.map((name) => name.toLowerCase()))
  const isAll = names.size === 0 || ['all', 'default', 'everything'].some((name) => names.has(name))
  return Object.entries(infoSections(state))
    .filter(([name]) => isAll || names.has(name.toLowerCase()))
    .map(([name, lines]) => [`# ${name}`, ...lines, ''].join('\r\n'))
    .join('\r\n')
}

function settings(state: ServerState): Record<string, string> {
  return { maxmemory: state.isOutOfMemory ? '1' : '0', 'maxmemory-policy': 'noeviction' }
}

function config([word = '', ...args]: readonly string[], state: ServerState): Reply {
  const [name = '', value = ''] = args
  if (word.toLowerCase() === 'get') {
    const matches = args.map((pattern) => glob(pattern.toLowerCase()))
    return Object.entries(settings(state)).flatMap(([key, its]) =>
      matches.some((each) => each.test(key)) ? [key, its] : [],
    )
  }
  if (word.toLowerCase() !== 'set') {
    throw new ErrorReply(`ERR unknown subcommand '${word}'. Try CONFIG HELP.`)
  }
  if (args.length !== 2) {
    throw wrongCount('config|set')
  }
  if (name.toLowerCase() !== 'maxmemory') {
    throw new ErrorReply(`ERR Unknown option or number of arguments for CONFIG SET - '${name}'`)
  }
  // There is memory, or none: what something takes is not counted.
  state.isOutOfMemory = count(value) > 0
  return OK
}

function flush([word = '']: readonly string[], { keyspace }: Data): Reply {
  if (!['', 'SYNC', 'ASYNC'].includes(word.toUpperCase())) {
    throw syntaxError()
  }
  keyspace.clear()
  return OK
}

/** Commands about the server as a whole. */
export function serverCommands(state: ServerState): readonly Command[] {
  const flushing: Definition = { args: [0, 1], ...free, flags: ['write'] }
  return [
    command('ping', { args: [0, 1], ...free }, ([text]) => text ?? new Status('PONG')),
    command('echo', { args: 1, ...free }, ([text = '']) => text),
    command('time', { args: 0, ...free, flags: ['loading'] }, (_, { clock }) => {
      const now = clock.now()
      const seconds = Math.floor(now / 1_000)
      return [String(seconds), String(Math.floor((now - seconds * 1_000) * 1_000))]
    }),
    command('info', { args: [0, Infinity], ...free, flags: ['loading'] }, (names) => info(names, state)),
    command('config', { args: [1, Infinity], ...free, flags: ['loading', 'noscript'] }, (args) =>
      config(args, state),
    ),
    command('flushall', flushing, flush),
    command('flushdb', flushing, flush),
    command('select', { args: 1, ...free, flags: ['loading'] }, ([index]) => {
      if (count(index) !== 0) {
        throw new ErrorReply('ERR DB index is out of range')
      }
      return OK
    }),
    command('wait', { args: 2, ...free, flags: ['noscript'] }, () => 0),
  ]
}
