// Types are checked by `npm run build` and `npm run types`; here the files are only stripped of them.
function stripped(tsconfig) {
  return ['ts-jest', { useESM: true, diagnostics: false, tsconfig }]
}

/** One project for what needs no server, one for each supported ioredis major against a real Redis. */
const common = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    // Nest's decorators are those before the standard.
    '/packages/nestjs/.+\\.ts$': stripped('packages/nestjs/tsconfig.test.json'),
    '^.+\\.ts$': stripped('tsconfig.test.json'),
  },
}

const sources = {
  '^@holdfast/([\\w-]+)$': '<rootDir>/packages/$1/src/index.ts',
  '^@holdfast/core/(\\w+)$': '<rootDir>/packages/core/src/$1/index.ts',
  '^(\\.{1,2}/.*)\\.js$': '$1',
}

const CARRIED_BY_ANY = [
  '/packages/(testing|nestjs|bullmq)/',
  '/conditions-(?!re)',
  '/fenced-(?!replay)',
  ...[
    'bad-input',
    'context-signal',
    'dead-waiters',
    'decorators',
    'demo',
    'eviction',
    'example',
    'fair-lock',
    'fencing',
    'http',
    'identity',
    'leaks',
  ],
  ...['lost-data', 'many', 'multi-lock', 'read-write', 'readers', 'red-lock', 'redis-clock'],
  ...['schedule', 'semaphores-of', 'suspend'],
].map((name) => (name.startsWith('/') ? name : `/core/test/redis/[^/]*${name}`))

const onRedis = (displayName, ioredis) => ({
  ...common,
  displayName,
  testMatch: ['<rootDir>/packages/*/test/redis/**/*.test.ts'],
  moduleNameMapper: { ...sources, ...(ioredis === 'ioredis' ? {} : { '^ioredis$': ioredis }) },
  globals: { everyLockKind: ioredis === 'ioredis' },
  // What asks what Redis and Holdfast do, whichever client carries it, runs once.
  ...(ioredis === 'ioredis' ? {} : { testPathIgnorePatterns: ['/node_modules/', ...CARRIED_BY_ANY] }),
})

export default {
  testTimeout: 30_000,
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/packages/*/test/unit/**/*.test.ts'],
      moduleNameMapper: sources,
    },
    onRedis('ioredis6', 'ioredis'),
    onRedis('ioredis5', 'ioredis5'),
  ],
}
