import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { provideChromium } from './browser/provide-chromium.mjs'
import { provideRedis } from './redis/provide-redis.mjs'
import { withServerProgram } from './redis/server-program.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }
const EVERY_CLIENT = '--every-client'
/** Warnings that tests cause hundreds of times: a failure would drown in it. Who listens for a warning still hears it. */
const PROVOKED = [
  'ExperimentalWarning',
  'HOLDFAST_LOST',
  'HOLDFAST_BARE_CALLS',
  'HOLDFAST_HOLD_OUTLIVES_CONTEXT',
  'HOLDFAST_UNREACHABLE',
]
// Files wait for half of their time and more: two processors are busy with so many. With more, processes stand still for
// longer than the short leases of tests allow.
const WORKERS = '4'
const WORKERS_CHOSEN = /^(-w|--maxWorkers|-i|--runInBand)(=|$)|^-w\d/

/** @type {import('node:child_process').ChildProcess | undefined} */
let jest
/** @type {keyof typeof SIGNAL_NUMBERS | undefined} */
let interrupted
for (const signal of Object.keys(SIGNAL_NUMBERS)) {
  // Ending is left to the code below, which stops Redis after Jest has ended.
  process.on(signal, () => {
    interrupted ??= signal
    jest?.kill(signal)
  })
}

/** @param {string} redisUrl */
const runJest = (redisUrl) => {
  const args = process.argv.slice(2).filter((arg) => arg !== EVERY_CLIENT)
  // jest.config.js reads it.
  const everyClient = process.argv.includes(EVERY_CLIENT) ? { HOLDFAST_TEST_EVERY_CLIENT: '1' } : {}
  // They have a command of their own: npm run test:fleets
  const all = args.some((arg) => arg.startsWith('--selectProjects')) ? [] : ['--ignoreProjects', 'fleets']
  const workers = args.some((arg) => WORKERS_CHOSEN.test(arg)) ? [] : ['-w', WORKERS]
  // Flags go on the command line and not into NODE_OPTIONS, which may hold something of the caller's.
  const flags = ['--experimental-vm-modules', ...PROVOKED.map((warning) => `--disable-warning=${warning}`)]
  jest = spawn(process.execPath, [...flags, 'node_modules/jest/bin/jest.js', ...workers, ...args, ...all], {
    cwd: ROOT,
    env: { ...process.env, ...everyClient, HOLDFAST_TEST_REDIS_URL: redisUrl },
    stdio: 'inherit',
  })
  return new Promise((resolve, reject) => {
    jest.on('error', reject)
    jest.on('close', (code, signal) => resolve(code ?? 128 + (SIGNAL_NUMBERS[signal] ?? 0)))
  })
}

/** Tests of the board open it in a browser; no others do. */
const mayLookAtBoard = (args) => {
  const text = args.join(' ')
  const isOther = /--selectProjects/.test(text) && !/\b(ioredis6|fleets)\b/.test(text)
  const isElsewhere = /--testPathPatterns/.test(text) && !/board/.test(text)
  return !isOther && !isElsewhere
}

const main = async () => {
  const log = (line) => console.error(`redis: ${line}`)
  const redis = await provideRedis({ log })
  try {
    log(redis.how)
    if (mayLookAtBoard(process.argv.slice(2))) {
      await provideChromium({ log: (line) => console.error(`chromium: ${line}`) })
    }
    return await withServerProgram(async () => (interrupted ? 0 : runJest(redis.url)), log)
  } finally {
    await redis.stop()
  }
}

try {
  const code = await main()
  // Without an exit, a connection that is left could hold the process.
  process.exit(interrupted ? 128 + SIGNAL_NUMBERS[interrupted] : code)
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
