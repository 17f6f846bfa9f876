import js from '@eslint/js'
import tseslint from 'typescript-eslint'
import { wholeSentences } from './scripts/lint/whole-sentences.mjs'

// Globals that library code must not reach, and where it comes from instead: a simulator decides all of it.
const FROM_RUNTIME =
  'Time, order and chance come from the Runtime that is handed in (packages/core/src/runtime/runtime.ts).'
const TIMERS = ['setTimeout', 'setInterval', 'setImmediate']
const RANDOM = ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID', 'getRandomValues']
const SECRETS = ['webcrypto', 'generateKey', 'generateKeySync', 'generateKeyPair', 'generateKeyPairSync']
const bannedGlobals = [...TIMERS, 'queueMicrotask', 'crypto', 'scheduler'].map((name) => ({
  name,
  message: FROM_RUNTIME,
}))
const bannedMembers = [
  ['Date', 'now'],
  ['performance', 'now'],
  ['performance', 'timeOrigin'],
  ['process', 'nextTick'],
  ['process', 'hrtime'],
  ['process', 'uptime'],
  ['Math', 'random'],
  ['AbortSignal', 'timeout'],
  ...[...TIMERS, 'queueMicrotask', 'crypto', 'performance'].map((name) => ['globalThis', name]),
].map(([object, property]) => ({ object, property, message: FROM_RUNTIME }))
const bannedSyntax = ['NewExpression', 'CallExpression'].map((kind) => ({
  selector: `${kind}[callee.name='Date'][arguments.length=0]`,
  message: FROM_RUNTIME,
}))
/** The style of core, in the packages below it too. */
const oneStyle = [
  { selector: 'PrivateIdentifier', message: 'Members are `private`, as in the rest of core.' },
  {
    selector: 'ObjectExpression > SpreadElement > ObjectExpression',
    message: 'A literal that is spread into another saves lines and hides the properties: write them out.',
  },
]
const pastRuntime = [
  { regex: '^(node:)?(timers|timers/promises|perf_hooks|process)$|^nanoid', message: FROM_RUNTIME },
  { regex: '^(node:)?crypto$', importNames: ['default', ...RANDOM, ...SECRETS], message: FROM_RUNTIME },
]
const forbid = (group, message) => ({ group, message })
const noTesting = forbid(
  ['@holdfast/testing', '@holdfast/faults', '@holdfast/faults/*'],
  'Test code never reaches src.',
)
const harnessAlone = {
  regex: '^(?!\\.|node:)|/(scenarios|run|workload)/',
  message:
    'The harness knows Redis and no lock client, and tests load neither scenarios nor commander with it.',
}
const noClient = {
  regex: '^(ioredis|redis|@redis/.+)$',
  message: 'Only redis/load-client.ts loads a Redis client.',
}
const noDependency = {
  regex: '^(?!\\.|node:)',
  message: 'Subpaths of core have structural types, and no dependency.',
}
const noSubpath = forbid(['**/entries/**'], 'Core does not know what is built on it.')
const imports = (...patterns) => ({
  'no-restricted-imports': ['error', { patterns: [...pastRuntime, ...patterns] }],
})
const importsOfRuntime = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] })
const anyRuntime = {
  'no-restricted-globals': 'off',
  'no-restricted-properties': 'off',
  'no-restricted-syntax': 'off',
}

export default tseslint.config(
  {
    ignores: [
      '.cache/**',
      '**/dist/**',
      'packages/*/build/**',
      'build/**',
      '**/node_modules/**',
      'coverage/**',
      'packages/core/src/**/lua-sources.ts',
      'packages/board/src/page-assets.ts',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['packages/*/src/**/*.ts', 'packages/*/test/**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        project: [
          'tsconfig.lint.json',
          'packages/nestjs/tsconfig.json',
          'packages/nestjs/tsconfig.test.json',
        ],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'off', // an abort reason may be anything
    },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 4],
      'no-restricted-globals': ['error', ...bannedGlobals],
      'no-restricted-properties': ['error', ...bannedMembers],
      'no-restricted-syntax': ['error', ...bannedSyntax],
      ...imports(noTesting, noClient),
    },
  },
  {
    files: ['packages/core/src/**/*.ts'],
    rules: imports(noTesting, noClient, noSubpath),
  },
  {
    // Entries of core beside its main one: whoever imports one needs nothing but core for it.
    files: ['packages/core/src/entries/**/*.ts'],
    rules: imports(noTesting, noDependency),
  },
  {
    files: ['packages/{bullmq,fence,otel,redlock,redis-semaphore}/src/**/*.ts'],
    rules: imports(
      noTesting,
      noClient,
      forbid(['@holdfast/*/*', '!@holdfast/core/siblings'], 'Only the public entry of core.'),
    ),
  },
  {
    files: ['packages/board/src/**/*.ts'],
    rules: imports(
      noTesting,
      noClient,
      forbid(
        ['@holdfast/*/*', '!@holdfast/core/observe', '!@holdfast/core/siblings'],
        'Only what core has for those who look.',
      ),
    ),
  },
  {
    files: ['packages/*/src/**/*.ts', '**/*.mjs', '*.js'],
    plugins: { sentences: wholeSentences },
    rules: { 'sentences/comments': 'error' },
  },
  {
    files: ['packages/watchdog/src/**/*.ts', 'packages/waiter/src/**/*.ts'],
    rules: imports(noTesting, noClient, forbid(['@holdfast/*'], 'watchdog and waiter stand alone.')),
  },
  {
    files: ['packages/{core,waiter,watchdog}/src/**/*.ts'],
    rules: {
      curly: 'error',
      'no-restricted-syntax': ['error', ...bannedSyntax, ...oneStyle],
    },
  },
  {
    // The one file that may touch Node's clocks, timers, queues and randomness.
    files: ['packages/core/src/runtime/runtime.ts'],
    rules: { ...anyRuntime, ...importsOfRuntime(noTesting, noClient, noSubpath) },
  },
  {
    // Spans have wall-clock times.
    files: ['packages/otel/src/wall-clock.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // How long an application waits for its own requests; it has no Runtime.
    files: ['packages/nestjs/src/running-requests.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // Drop-ins keep time as what they stand for does: by the wall clock, and without a client of their own.
    files: ['packages/{redlock,redis-semaphore}/src/process-clock.ts'],
    rules: { ...anyRuntime, ...importsOfRuntime(noTesting, noClient) },
  },
  {
    files: ['packages/core/src/redis/load-client.ts'],
    rules: imports(noTesting),
  },
  {
    files: ['packages/{testing,faults}/src/**/*.ts'],
    rules: { ...anyRuntime, ...importsOfRuntime() },
  },
  {
    // A program: it has the process to itself, and its clock. Its connections are ioredis's.
    files: ['packages/cli/src/**/*.ts'],
    rules: { ...anyRuntime, ...importsOfRuntime(noTesting) },
  },
  {
    files: ['packages/faults/src/harness/**/*.ts'],
    rules: importsOfRuntime(harnessAlone),
  },
  {
    files: ['packages/*/test/**/*.ts'],
    plugins: { sentences: wholeSentences },
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      'sentences/test-names': 'error',
      'sentences/comments': 'error',
    },
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        performance: 'readonly',
        AbortController: 'readonly',
        console: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        URL: 'readonly',
        AbortSignal: 'readonly',
        btoa: 'readonly',
        fetch: 'readonly',
      },
    },
  },
)
