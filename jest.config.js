// Types are checked by `npm run build` and `npm run types`; here the files are only stripped of them.
const stripped = { '^.+\\.ts$': '<rootDir>/scripts/jest/strip-types.mjs' }
// Nest's decorators are those before the standard, with metadata of types, which the compiler alone writes: slowly.
const strippedForNest = {
  '/packages/nestjs/.+\\.ts$': [
    'ts-jest',
    { useESM: true, diagnostics: false, tsconfig: 'packages/nestjs/tsconfig.test.json' },
  ],
  ...stripped,
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
  '^@holdfast/core/(\\w+)$': '<rootDir>/packages/core/src/entries/$1/index.ts',
  '^@holdfast/faults/(\\w+)$': '<rootDir>/packages/faults/src/$1/index.ts',
  '^(\\.{1,2}/.*)\\.js$': '$1',
}

const words = (text) => text.trim().split(/\s+/)

// Several processes, servers that go away, or very many calls, for long: `npm run test:fleets`.
const FLEETS = words(`
  board-accessibility board-many board-pages board-pictures demo examples http-outage leaks
  metrics-under-faults processes queue-of-workers red-lock-faults red-lock-hung run-harms schedule-processes
  share-processes street torture-of-processes`)
// Whole programs with their children, topologies, and long files that ask no client in particular: a step of their own.
const LONG = words('doctor fencing-sql process-end renewals-spread run')
// Suites of every kind of lock there, and of the plain one with ioredis 5.
const FOR_LONG = ['conformance-many']
// Suites that depend most on what a client does when its connection breaks, and the contract of the plain lock. The
// others are about Redis and Holdfast, whichever client carries them: `npm run test:clients` runs them with each.
const LEFT_TO_CLIENTS = words(String.raw`
  client-settings conditions-resubscribe conformance\. connecting connection-contract fenced-replay inspect-all
  old-server transactions wake-ups`)
const LEFT_TO_NODE_REDIS = [...LEFT_TO_CLIENTS, ...words('foreign-locks foreign-topologies')]
const LEFT_TO_IOREDIS_5 = [
  ...LEFT_TO_CLIENTS,
  ...words('cluster conditions-refused conformance-many fail-over ioredis- no-channels partition'),
  ...words('release-waits secrets sentinel wire\\.'),
]
// Options and ways of one client.
const OF_IOREDIS = [
  '/packages/(testing|faults|bullmq|otel|board|redlock|redis-semaphore|fence|cli)/',
  ...words('eviction ioredis- iovalkey readme sentinel-switch'),
]
const OF_NODE_REDIS = ['node-redis']
// Suites of packages whose peer is ioredis itself, of its name, and of processes that load it.
const NOT_OF_A_FORK = [
  '/packages/(testing|faults|bullmq|otel|redlock|redis-semaphore|fence)/',
  ...words('connecting iovalkey readme'),
]

const ENGINE = '<rootDir>/packages/core/test/redis/support/engine'
const inEngine = { '^ioredis$': `${ENGINE}/ioredis.ts`, '^@holdfast/faults/harness$': `${ENGINE}/harness.ts` }
// Tests that cannot run there are listed in exceptions.mjs; its reporter holds that list to the tests. The other suites of
// core need a server that can be killed, a proxy, processes or a client, watch what is sent, or ask nothing of Redis.
const ON_ENGINE = words(`
  conditions-out-of-memory conditions-removed conformance election-wire
  eviction fair-lock fair-lock-java fair-lock-wire fenced-lock fencing
  forced-holder identity inspect interop-none non-reentrant-lock permit-semaphore
  read-write-lock read-write-wire rounds schedule-wire semaphore semaphore-wire share-wire
  spin-lock-wire tombstones wire`)

// `npm run test:clients`: every test with every client.
const everyClient = process.env.HOLDFAST_TEST_EVERY_CLIENT !== undefined

const inCore = (name) => (name.startsWith('/') ? name : `/core/test/redis/[^/]+/[^/]*${name}`)

/** The name that a test imports, by the package that stands for it: an older major, or a fork. */
const IN_PLACE_OF = { ioredis5: 'ioredis', iovalkey: 'ioredis', redis5: 'redis' }

/** `carrier`: the package that carries what Holdfast sends. */
const onRedis = (displayName, { carrier, only = '', without }) => ({
  ...common,
  displayName,
  testMatch: ['<rootDir>/packages/!(nestjs)/test/redis/**/*.test.ts'],
  testPathIgnorePatterns: [
    '/node_modules/',
    ...[...FLEETS, ...(everyClient ? [] : LONG)].map((name) => `/redis/([^/]+/)?${name}\\.test`),
    ...without.map(inCore),
    ...(only ? [`/redis/([^/]+/)?(?!${only})[^/]+$`] : []),
  ],
  moduleNameMapper: { ...sources, [`^${IN_PLACE_OF[carrier] ?? carrier}$`]: carrier },
  globals: { everyLockKind: everyClient || ['ioredis6', 'fleets'].includes(displayName), carrier },
})

/** All of it in `npm run test:clients`, else what is left to that client. */
const onOther = (displayName, carrier, { left, without }) =>
  onRedis(displayName, { carrier, only: everyClient ? '' : left.join('|'), without })

export default {
  // Also where the configuration for planted bugs passes this one on.
  rootDir: import.meta.dirname,
  // A busy machine takes several times as long to compute.
  testTimeout: 120_000,
  testSequencer: '<rootDir>/scripts/jest/sequencer.mjs',
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
    onOther('ioredis5', 'ioredis5', { left: LEFT_TO_IOREDIS_5, without: OF_NODE_REDIS }),
    // A fork of ioredis 5, whose own test shows with the others that it is taken.
    ...(everyClient
      ? [onRedis('iovalkey', { carrier: 'iovalkey', without: [...OF_NODE_REDIS, ...NOT_OF_A_FORK] })]
      : []),
    onOther('noderedis6', 'redis', { left: [...LEFT_TO_NODE_REDIS, ...OF_NODE_REDIS], without: OF_IOREDIS }),
    onOther('noderedis5', 'redis5', { left: ['conformance\\.', ...OF_NODE_REDIS], without: OF_IOREDIS }),
    {
      ...onRedis('engine', { carrier: 'engine', without: [] }),
      // The contract, without what needs a process that can be killed, a proxy, or other clients.
      testMatch: ON_ENGINE.map((name) => `<rootDir>/packages/core/test/redis/*/${name}.test.ts`),
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
        (name) => `<rootDir>/packages/*/test/redis/**/${name}.test.ts`,
      ),
      testPathIgnorePatterns: ['/node_modules/'],
    },
  ],
}
