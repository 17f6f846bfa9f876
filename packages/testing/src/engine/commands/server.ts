import { VERSION } from '../scripting.js'
import type { ServerState } from '../server-state.js'
import { ErrorReply, OK, Status, syntaxError, wrongCount, type Reply } from '../reply.js'
import { glob } from '../glob.js'
import { command, count, noKeys, type Command, type Data, type Definition } from './command.js'

const free = { keys: noKeys } as const

const UNITS: Readonly<Record<string, number>> = {
  ...{ '': 1, b: 1, k: 1_000, kb: 1_024, m: 1e6, mb: 1_024 ** 2, g: 1e9, gb: 1_024 ** 3 },
}
const ON_REPLICA =
  'ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured ' +
  'to be writable (which is not the default) writes to replicas are just local and are not propagated.'
const MOST_INT = 2_147_483_647
const POLICIES = ['volatile', 'allkeys'].flatMap((which) =>
  ['lru', 'lfu', 'random', ...(which === 'volatile' ? ['ttl'] : [])].map((by) => `${which}-${by}`),
)
POLICIES.push('noeviction')

function infoSections({ runId, isReplica, isLoading, ...state }: ServerState): Record<string, string[]> {
  return {
    Server: [`redis_version:${VERSION}`, 'redis_mode:standalone', `run_id:${runId}`],
    Memory: [`maxmemory:${state.maxMemory}`, `maxmemory_policy:${state.maxMemoryPolicy}`],
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

function settings({ maxMemory, maxMemoryPolicy }: ServerState): Record<string, string> {
  return { maxmemory: String(maxMemory), 'maxmemory-policy': maxMemoryPolicy }
}

function set(name: string, value: string, state: ServerState): void {
  const refuse = (why: string): never => {
    throw new ErrorReply(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${why}`)
  }
  if (name === 'maxmemory') {
    const [, number = '', unit = '-'] = /^(\d+)([a-z]*)$/.exec(value.toLowerCase()) ?? []
    state.maxMemory = Number(number) * (UNITS[unit] ?? refuse('argument must be a memory value'))
  } else if (name === 'maxmemory-policy') {
    state.maxMemoryPolicy = POLICIES.includes(value.toLowerCase())
      ? value.toLowerCase()
      : refuse(`argument(s) must be one of the following: ${POLICIES.join(', ')}`)
  } else {
    throw new ErrorReply(`ERR Unknown option or number of arguments for CONFIG SET - '${name}'`)
  }
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
    throw new ErrorReply(`ERR unknown subcommand '${word.slice(0, 128)}'. Try CONFIG HELP.`)
  }
  if (args.length !== 2) {
    throw wrongCount('config|set')
  }
  set(name.toLowerCase(), value, state)
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
      const wanted = count(index)
      if (Math.abs(wanted) > MOST_INT) {
        throw new ErrorReply('ERR value is out of range, value must between -2147483648 and 2147483647')
      }
      if (wanted !== 0) {
        throw new ErrorReply('ERR DB index is out of range')
      }
      return OK
    }),
    command('wait', { args: 2, ...free, flags: ['noscript'] }, () => {
      if (state.isReplica) {
        throw new ErrorReply(ON_REPLICA)
      }
      return 0
    }),
  ]
}
