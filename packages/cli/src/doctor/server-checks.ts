import { error, warning, type Finding } from './finding.js'
import { SLOW_MS, type ServerFacts } from './server-facts.js'

type Check = (facts: ServerFacts) => Finding | null

/** Longer, and a renewal that has to be repeated once comes late. */
const LONG_ROUND_TRIP_MS = 100
const MOST_CLOCK_ERROR_MS = 2_000
const FULL = 0.9
const SMALLEST_BUFFER = 1_048_576
const SHORTEST_TIMEOUT_S = 60

const CHECKS: readonly Check[] = [
  version,
  role,
  eviction,
  memory,
  persistence,
  failingPersistence,
  replicas,
  clock,
  latency,
  slowCommands,
  connections,
  idleConnections,
  messageBuffers,
]

export function findingsOf(facts: ServerFacts): Finding[] {
  return CHECKS.flatMap((check) => {
    const finding = check(facts)
    return finding ? [{ ...finding, found: `${facts.address}: ${finding.found}` }] : []
  })
}

function numberIn(values: ReadonlyMap<string, string> | undefined, name: string): number | undefined {
  const text = values?.get(name)
  return text === undefined || !/^-?\d+$/.test(text) ? undefined : Number(text)
}

function version({ info }: ServerFacts): Finding | null {
  const text = info.get('valkey_version') ?? info.get('redis_version') ?? ''
  const [major = 0, minor = 0] = text.split('.').map(Number)
  return text === '' || major > 6 || (major === 6 && minor >= 2)
    ? null
    : error(
        'version',
        `version ${text} is older than Redis 6.2`,
        'Update the server: Holdfast needs Redis 6.2, or Valkey.',
      )
}

function role({ info }: ServerFacts): Finding | null {
  return info.get('role') === 'slave'
    ? error(
        'replica',
        `this is a replica of ${info.get('master_host')}:${info.get('master_port')}, which refuses every lock`,
        'Connect to the primary: its own address, or --sentinel and --master.',
      )
    : null
}

function eviction({ info }: ServerFacts): Finding | null {
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  const limit = numberIn(info, 'maxmemory') ?? 0
  return limit > 0 && policy !== 'noeviction'
    ? error(
        'eviction',
        `maxmemory-policy is ${policy}: when memory is full, Redis removes held locks, which all have a time to live`,
        'CONFIG SET maxmemory-policy noeviction, or keep locks on a server that is no cache.',
      )
    : null
}

function memory({ info }: ServerFacts): Finding | null {
  const [limit = 0, used = 0] = [numberIn(info, 'maxmemory'), numberIn(info, 'used_memory')]
  const policy = info.get('maxmemory_policy')
  return limit > 0 && policy === 'noeviction' && used > FULL * limit
    ? warning(
        'memory',
        `${Math.round((100 * used) / limit)} % of maxmemory is used: when it is full, no lock can be acquired`,
        'Raise maxmemory, or remove what fills it.',
      )
    : null
}

const KEEP = 'CONFIG SET appendonly yes, with appendfsync everysec or always.'

function persistence({ info, config }: ServerFacts): Finding | null {
  if (!config || info.get('aof_enabled') !== '0') {
    return null
  }
  return config.get('save') === ''
    ? warning(
        'persistence',
        'nothing is kept: after a restart every held lock is free, and its holder works on',
        KEEP,
      )
    : warning(
        'persistence',
        'only snapshots are kept: a restart forgets the locks of the last minutes, and their holders work on',
        KEEP,
      )
}

function failingPersistence({ info }: ServerFacts): Finding | null {
  const failing = ['rdb_last_bgsave_status', 'aof_last_write_status', 'aof_last_bgrewrite_status'].filter(
    (name) => info.get(name) === 'err',
  )
  return failing.length > 0
    ? error(
        'persistence-fails',
        `${failing.join(', ')}: the last try to write to disk failed, and Redis may refuse every write`,
        "Look into the server's log: a full disk, or a folder that it may not write to.",
      )
    : null
}

function replicas({ info, config }: ServerFacts): Finding | null {
  const count = numberIn(info, 'connected_slaves') ?? 0
  if (count === 0 || info.get('role') !== 'master') {
    return null
  }
  const states = Array.from({ length: count }, (_, i) => info.get(`slave${i}`) ?? '')
  const away = states.filter((state) => !state.includes('state=online')).length
  if (away > 0) {
    return warning(
      'replica-away',
      `${away} of ${count} replicas do not follow: after a fail-over to one of them, held locks are free`,
      "Look into the replica's log, and at its connection.",
    )
  }
  return config && (numberIn(config, 'min-replicas-to-write') ?? 0) === 0
    ? warning(
        'replicas-unacknowledged',
        'a lock counts before a replica has it: a fail-over forgets the latest ones, and their holders work on',
        'Give the clients replicas: { acks: 1 }, and the server min-replicas-to-write 1; for what must not happen twice, fencing tokens.',
      )
    : null
}

function clock({ clockAheadMs }: ServerFacts): Finding | null {
  return Math.abs(clockAheadMs) > MOST_CLOCK_ERROR_MS
    ? warning(
        'clock',
        `its clock is ${(Math.abs(clockAheadMs) / 1_000).toFixed(1)} s ${clockAheadMs > 0 ? 'ahead of' : 'behind'} this machine's: times of logs do not match, Redisson's fair locks go wrong, and when it is set, leases end at another time`,
        'Let NTP set both, and not by steps.',
      )
    : null
}

function latency({ roundTripsMs }: ServerFacts): Finding | null {
  const sorted = [...roundTripsMs].sort((a, b) => a - b)
  const median = sorted[sorted.length >> 1] ?? 0
  return median > LONG_ROUND_TRIP_MS
    ? warning(
        'latency',
        `a round trip takes ${Math.round(median)} ms: acquire and release take as long each`,
        'Use a Redis that is nearer. Let the lease be 100 round trips at least.',
      )
    : null
}

function slowCommands({ slowCommands: slow = [] }: ServerFacts): Finding | null {
  const longest = slow.reduce((most, each) => (each.ms > most.ms ? each : most), { name: '', ms: 0 })
  return slow.length > 0
    ? warning(
        'slow-commands',
        `${slow.length} commands of the last hour took ${SLOW_MS} ms and more (${longest.name} ${longest.ms} ms): every lock waited meanwhile`,
        'SLOWLOG GET names them. Use SCAN instead of KEYS, UNLINK instead of DEL, shorter scripts; or another server for locks.',
      )
    : null
}

function connections({ info, config }: ServerFacts): Finding | null {
  const most = numberIn(info, 'maxclients') ?? numberIn(config, 'maxclients') ?? 0
  const used = numberIn(info, 'connected_clients') ?? 0
  return most > 0 && used > FULL * most
    ? warning(
        'connections',
        `${used} of ${most} connections are used: the next clients are refused`,
        'Raise maxclients (a client of Holdfast has two connections), or find who leaks them.',
      )
    : null
}

function idleConnections({ config }: ServerFacts): Finding | null {
  const seconds = numberIn(config, 'timeout') ?? 0
  return seconds > 0 && seconds < SHORTEST_TIMEOUT_S
    ? warning(
        'idle-connections',
        `connections are closed after ${seconds} s without a command: each lock after a pause waits for a new one, and every lease is checked`,
        'CONFIG SET timeout 0.',
      )
    : null
}

function messageBuffers({ config }: ServerFacts): Finding | null {
  const limits = config?.get('client-output-buffer-limit') ?? ''
  const [, hard = '0'] = /pubsub (\d+) /.exec(limits) ?? []
  return Number(hard) > 0 && Number(hard) < SMALLEST_BUFFER
    ? warning(
        'message-buffers',
        `client-output-buffer-limit of pubsub is ${hard} bytes: listeners are cut off when many locks are released at once, and waiters hear late`,
        'CONFIG SET client-output-buffer-limit "pubsub 33554432 8388608 60".',
      )
    : null
}
