// Types are checked by `npm run build` and `npm run types`; here the files are only stripped of them.
const stripped = { '^.+\\.ts$': '<rootDir>/scripts/jest/strip-types.mjs' }
// Nest's decorators are those before the standard, with metadata of types, which the compiler alone writes.
const strippedForNest = {
  '^.+\\.ts$': [
    'ts-jest',
    { useESM: true, diagnostics: false, tsconfig: 'packages/nestjs/tsconfig.test.json' },
  ],
}

/** One project for what needs no server, one for each supported client and major of it against a real Redis. */
const common = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: stripped,
}

const sources = {
  '^@holdfast/([\\w-]+)$': '<rootDir>/packages/$1/src/index.ts',
  '^@holdfast/(core|faults)/(\\w+)$': '<rootDir>/packages/$1/src/$2/index.ts',
  '^(\\.{1,2}/.*)\\.js$': '$1',
}

// Suites about Redis and Holdfast, whichever client carries them.
const CARRIED_BY_ANY = [
  '/packages/(testing|faults|nestjs|bullmq|otel|board|redlock|redis-semaphore|fence|cli)/',
  '/conditions-(?!re)',
  '/fenced-(?!replay)',
  ...[
    'bad-input',
    'context-signal',
    'dead-waiters',
    'decorators',
    'demo',
    'diagnostics',
    'election',
    'eviction',
    'example',
    'fair-lock',
  ],
  ...[
    'fencing',
    'http',
    'identity',
    'lock-grants',
    'lost-data',
    'multi-lock',
    'primary-change',
    'read-write',
  ],
  ...[
    'explained-waiting',
    'hold-notes',
    'inspect\\.',
    'instances',
    'readers',
    'red-lock',
    'redis-clock',
    'replicas',
    'schedule',
  ],
  // Contexts, re-entry and hand-over inside a process: what is sent for them is asked of each client by 'wire'.
  ...[
    'chained-contexts',
    'compound-close',
    'context-ends',
    'forgotten-await',
    'interop-none',
    'local-passing\\.',
    'reentry',
    'runtime',
  ],
  ...[
    'semaphores-of',
    'suspend',
    'self-waits',
    'strangers',
    'lease-of-a-call',
    'shortened-leases',
    'defaults-of',
    'forced-holder',
  ],
]
// Several processes, servers that go away, or very many calls, for long: `npm run test:fleets`.
const FLEETS = [
  'leaks',
  // A browser, and ten thousand rows in it.
  ...['board-many', 'board-pictures', 'holder-picture', 'board-pages', 'board-accessibility'],
  ...[
    'demo',
    'examples',
    'http-outage',
    'http-processes',
    'schedule-processes',
    'share-processes',
    'queue-of-workers',
    'street',
  ],
  ...[
    'torture-of-processes',
    'metrics-under-faults',
    'run-harms',
    'processes',
    'red-lock-faults',
    'red-lock-hung',
  ],
]
// Whole programs with their children, topologies, and long files that ask no client in particular: a step of their own.
const LONG = [
  ...['run', 'doctor', 'topologies-sentinels', 'topologies-cluster', 'fencing-sql'],
  ...['renewals-spread', 'process-end'],
]
// Suites of every kind of lock there, and of the plain one with ioredis 5.
const FOR_LONG = ['conformance-many']
// Long suites in which ioredis 5 does as 6 does.
const SAME_IN_IOREDIS_5 = [
  ...[
    'lost-lines',
    'grants-nobody',
    'compound-refused',
    'forged',
    'foreign-lines',
    'tombstones',
    'renewals-spread',
    'foreign-locks',
    'foreign-topologies',
  ],
  ...['hold', 'process-end', 'processes', 'unavailable', 'readme', 'trust', '/conditions-re[mn]', '/replay'],
  ...[
    'semaphore',
    'permit',
    'spin-lock',
    'count-down',
    'cancelled',
    'abandoned',
    'close-releases',
    'iovalkey',
  ],
]
// Suites that depend most on what a client does when its connection breaks, and the contract of the plain lock.
const LEFT_TO_CLIENTS = [
  ...[
    'conformance\\.',
    'fenced-replay',
    'wake-ups',
    'conditions-resubscribe',
    'client-settings',
    'connection-contract',
    'inspect-all',
    'foreign-locks',
    'foreign-topologies',
    'connecting',
    'transactions',
    'old-server',
  ],
]
// Options and ways of one client.
const OF_IOREDIS = [
  '/packages/(testing|faults|bullmq|otel|board|redlock|redis-semaphore|fence|cli)/',
  'ioredis-',
  'sentinel-switch',
  'eviction',
  'readme',
  'iovalkey',
]
const OF_NODE_REDIS = ['node-redis']
// Suites of packages whose peer is ioredis itself, of its name, and of processes that load it.
const NOT_OF_A_FORK = [
  '/packages/(testing|faults|bullmq|otel|redlock|redis-semaphore|fence)/',
  ...['readme', 'iovalkey', 'connecting'],
]

const ENGINE = '<rootDir>/packages/core/test/redis/support/engine'
const inEngine = { '^ioredis$': `${ENGINE}/ioredis.ts`, '^@holdfast/faults/harness$': `${ENGINE}/harness.ts` }
// Tests that cannot run there are listed in exceptions.mjs; its reporter holds that list to the tests.
const ON_ENGINE = [
  ...[
    'conditions-out-of-memory',
    'conformance',
    'eviction',
    'fair-lock',
    'fair-lock-wire',
    'fenced-wire',
    'inspect',
  ],
  ...[
    'lost-lines',
    'non-reentrant-lock',
    'permit-semaphore',
    'permit-wire',
    'read-write-lock',
    'read-write-wire',
    'schedule-wire',
    'election-wire',
  ],
  ...['identity', 'semaphore', 'semaphore-wire', 'spin-lock-wire', 'tombstones', 'wire'],
  ...['fenced-lock', 'fenced-options', 'forced-holder'],
  ...[
    'cancelled-permits',
    'close-permits',
    'conditions-removed',
    'conditions-ttl',
    'fair-lock-java-dead',
    'fair-lock-leaving',
    'fencing',
    'interop-none',
    'read-write-downgrade',
    'rounds',
    'share-wire',
  ],
]

// Why the other suites of core are not among them.
// - a reply that is lost, a silence, or a server that is stopped, killed or replaced: needs a proxy or a process:
//   broken-then-lost, cancelled, close-calls, close-releases, compound-refused, conditions-,
//   conditions-crash, conditions-demoted, conditions-failover, conditions-loading,
//   conditions-long-pause, conditions-renewal, conditions-short-pause, count-down-latch, dead-waiters,
//   decorators-outage, election-, ends, fail-over, fair-lock-grants, fair-lock-interleavings,
//   fair-lock-liveness, fair-lock-outage, fair-lock-passing, fenced-replay, fenced-set,
//   grants-nobody-took, hand-offs-under-loss, hold, http-, lines, local-passing, local-passing-faults,
//   local-reentry, lost-data, multi-lock-, multi-lock-line, outage, partition, permit-handle,
//   primary-change, red-lock-faults, red-lock-hung, redis-clock-, reentry, replay, resubscribe,
//   schedule, semaphore-replay, semaphore-waiting, servers, share-outage, shortened-leases,
//   standing-back, travel-,
//   travel, trust, unavailable
// - counts or watches what a server is sent, or a method of the client:
//   abandoned-waits, batch, compound-close, conditions-script-flush, diagnostics, election-changes,
//   explained-waiting, fair-line, fair-lock-forced, fenced-refusals, forged-grants, forged-messages, hold-notes,
//   inspect-all, lock-grants, multi-lock, observe, renewals-in-a-row, renewals-spread, replicas,
//   spin-lock, waiting, wake-ups
// - processes of its own:
//   conditions-exit, conformance-renewal, demo, example-recursion, examples,
//   fair-lock-processes, http-processes, leaks, of-processes, process-end, processes,
//   readme, red-lock, schedule-processes, self-waits, share-processes
// - other clients, other programs, Sentinel, clusters or what ioredis does:
//   bad-input, client-settings, cluster, cluster-attempts, cluster-moves, connecting, connection-contract, fencing-sql,
//   foreign-topologies, http-errors, inspect-cluster, ioredis-script-commands, ioredis-socket-timeout,
//   iovalkey, node-redis, node-redis-pool, node-redis-sentinel, old-server, process-end-, sentinel,
//   sentinel-switch, strangers, transactions
// - the same, or a setting of a server: its files pass but for those tests:
//   chained-contexts, conditions-refused, fair-lock-scripts, lease-of-a-call, redis-clock,
//   release-waits, resumption, suspend
// - watches what is sent, or the order of messages and replies on two sockets, or spies on the process:
//   fair-lock-messages, foreign-locks, runtime, share, share-keeping
// - commands and options that Holdfast has no use for: XADD, the keyPrefix of a client:
//   conditions-names, foreign-lines
// - passes, and asks more of the client than of Redis, or takes long:
//   conformance-many, context-ends, context-signal, decorators, decorators-lazy, decorators-names,
//   defaults-of-a-client, election, fair-lock-java, forgotten-await, http, instances

// `npm run test:clients`: every test with every client.
const everyClient = process.env.HOLDFAST_TEST_EVERY_CLIENT !== undefined

const inCore = (name) => (name.startsWith('/') ? name : `/core/test/redis/[^/]*${name}`)

/** Imports of tests, by the package that stands for them: an older major, or a fork. */
const IN_PLACE_OF = { ioredis5: 'ioredis', iovalkey: 'ioredis', redis5: 'redis' }

/** `carrier`: the package that carries what Holdfast sends. */
const onRedis = (displayName, { carrier, only = '', without }) => ({
  ...common,
  displayName,
  testMatch: ['<rootDir>/packages/!(nestjs)/test/redis/**/*.test.ts'],
  testPathIgnorePatterns: [
    '/node_modules/',
    ...[...FLEETS, ...(everyClient ? [] : LONG)].map((name) => `/redis/${name}\\.test`),
    ...without.map(inCore),
    ...(only ? [`/redis/(?!${only})`] : []),
  ],
  moduleNameMapper: { ...sources, [`^${IN_PLACE_OF[carrier] ?? carrier}$`]: carrier },
  globals: { everyLockKind: everyClient || ['ioredis6', 'fleets'].includes(displayName), carrier },
})

const onNodeRedis = (displayName, carrier, few) => {
  const only = everyClient ? '' : [...few, ...OF_NODE_REDIS].join('|')
  return onRedis(displayName, { carrier, only, without: OF_IOREDIS })
}

export default {
  // Also where the configuration for planted bugs passes this one on.
  rootDir: import.meta.dirname,
  testTimeout: 30_000,
  reporters: ['default', `${ENGINE}/reporter.mjs`, '<rootDir>/scripts/jest/times.mjs'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/packages/*/test/unit/**/*.test.ts'],
      moduleNameMapper: sources,
    },
    onRedis('ioredis6', {
      carrier: 'ioredis',
      without: [...OF_NODE_REDIS, ...(everyClient ? [] : FOR_LONG)],
    }),
    onRedis('ioredis5', {
      carrier: 'ioredis5',
      without: [...OF_NODE_REDIS, ...(everyClient ? [] : [...CARRIED_BY_ANY, ...SAME_IN_IOREDIS_5])],
    }),
    // A fork of ioredis 5, whose own test shows with the others that it is taken.
    ...(everyClient
      ? [onRedis('iovalkey', { carrier: 'iovalkey', without: [...OF_NODE_REDIS, ...NOT_OF_A_FORK] })]
      : []),
    onNodeRedis('noderedis6', 'redis', LEFT_TO_CLIENTS),
    onNodeRedis('noderedis5', 'redis5', ['conformance\\.']),
    {
      ...onRedis('engine', { carrier: 'engine', without: [] }),
      // The contract, without what needs a process that can be killed, a proxy, or other clients.
      testMatch: ON_ENGINE.map((name) => `<rootDir>/packages/core/test/redis/${name}.test.ts`),
      moduleNameMapper: { ...inEngine, ...sources },
      testEnvironment: `${ENGINE}/environment.mjs`,
    },
    {
      ...common,
      displayName: 'nestjs',
      transform: strippedForNest,
      testMatch: ['<rootDir>/packages/nestjs/test/redis/**/*.test.ts'],
      globals: { everyLockKind: false, carrier: 'ioredis' },
      moduleNameMapper: sources,
    },
    {
      ...onRedis('fleets', { carrier: 'ioredis', without: [] }),
      testMatch: [...FLEETS, ...LONG, ...FOR_LONG].map(
        (name) => `<rootDir>/packages/*/test/redis/${name}.test.ts`,
      ),
      testPathIgnorePatterns: ['/node_modules/'],
    },
  ],
}
