// Libraries by what they send: the type of their key, what they read, how they release. No library is fetched, so this
// takes a second. What is seen is compared with the page's table, which was made with the libraries themselves.
import { readFile } from 'node:fs/promises'
import { LockClient } from '@holdfast/core'
import { Redis } from 'ioredis'

const PAGE = new URL('../../../../docs/beside-other-locks.md', import.meta.url)
const NAME = 'order:42'
const TEXT = 'f4m4gh99ple'
const TTL_MS = 30_000
const COMPARE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
const IF_FREE_OR_MINE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return 'OK' end return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX')"
const COUNT = "local n = tonumber(redis.call('get', KEYS[1]) or 0) if n > 0 then return false end"
const ZSET = `redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[2]) if redis.call('zcard', KEYS[1]) > 0 then return false end
  redis.call('zadd', KEYS[1], ARGV[3], ARGV[1], ARGV[3], '__write__') return 1`

const set = (redis, key, text) => redis.set(key, text, 'PX', TTL_MS, 'NX')
const take = {
  blindly: set,
  'after a GET': async (redis, key, text) => ((await redis.get(key)) === null ? set(redis, key, text) : null),
  'and reads after a refusal': async (redis, key, text) =>
    (await set(redis, key, text)) ?? ((await redis.get(key)) === text ? 'OK' : null),
  'in a script that reads': (redis, key, text) => redis.eval(IF_FREE_OR_MINE, 1, key, text, TTL_MS),
  'or not at all': async (redis, key, text) => (await set(redis, key, text), 'OK'),
  'by counting': (redis, key) =>
    redis.eval(`${COUNT} redis.call('set', KEYS[1], n + 1, 'PX', ARGV[1]) return 1`, 1, key, TTL_MS),
  'in a sorted set': (redis, key, text) =>
    redis.eval(ZSET, 1, key, text, Date.now() / 1_000, Date.now() / 1_000 + TTL_MS / 1_000),
  'in a hash': async (redis, key, text) => ((await redis.hsetnx(key, 'writer', text)) === 1 ? 'OK' : null),
}
const release = {
  compares: (redis, key, text) => redis.eval(COMPARE, 1, key, text),
  deletes: (redis, key) => redis.del(key),
  overwrites: (redis, key, text) => redis.set(key, text, 'PX', TTL_MS, 'XX'),
  counts: (redis, key) =>
    redis.eval("return redis.call('set', KEYS[1], tonumber(redis.call('get', KEYS[1])) - 1)", 1, key),
  'its member': (redis, key, text) => redis.zrem(key, text, '__write__'),
  'its field': async (redis, key, text) =>
    (await redis.hget(key, 'writer')) === text ? redis.hdel(key, 'writer') : 0,
}

/** The first words of its row: how it takes its lock, and how it releases it. */
export const RULES = [
  ['redis-py Lock', 'blindly', 'compares'],
  ['python-redis-lock', 'after a GET', 'compares'],
  ['aiocache RedLock', 'or not at all', 'compares'],
  ['celery-once', 'blindly', 'deletes'],
  ['dramatiq ConcurrentRateLimiter', 'by counting', 'counts'],
  ['redishilok', 'in a hash', 'its field'],
  ['redis-lock 1.0.0', 'blindly', 'deletes'],
  ['@verrou/core', 'blindly', 'compares'],
  ['bsm/redislock', 'and reads after a refusal', 'compares'],
  ['redsync', 'blindly', 'compares'],
  ['go-zero RedisLock', 'in a script that reads', 'compares'],
  ['ShedLock, Spring provider', 'blindly', 'deletes'],
  ['ShedLock, lockAtLeastFor', 'blindly', 'overwrites'],
  ['ShedLock, safeUpdate(true)', 'blindly', 'compares'],
  ['symfony/lock RedisStore', 'in a sorted set', 'its member'],
]

const refusesType = (error) => /WRONGTYPE|WRONG_TYPE/.test(`${error?.code} ${error?.message}`)
const typeError = (word) => (error) => {
  if (refusesType(error)) return word
  throw error
}

/** How the library and Holdfast treat each other: words of the page's columns. */
async function seen(redis, locks, [, how, back]) {
  const lock = locks.getLock(NAME)
  const words = {}
  const mine = await lock.acquire()
  const got = await take[how](redis, NAME, TEXT).catch(typeError('fails'))
  words.behind = got === 'fails' ? got : got === null || got === 0 ? 'refused' : 'enters'
  await redis.del(NAME)
  await mine.release()
  await take[how](redis, NAME, TEXT)
  const ours = await lock.tryAcquire().catch(typeError('WRONG_TYPE'))
  words.ours = ours === null ? 'waits' : ours === 'WRONG_TYPE' ? ours : 'not excluded'
  // Its lock has ended by its time, or the counter has; ours has its name.
  await redis.del(NAME)
  const hold = await lock.acquire()
  await release[back](redis, NAME, TEXT).catch(typeError('fails'))
  words.late = (await redis.hexists(NAME, hold.owner).catch(typeError(0))) === 1 ? 'stays' : 'gone'
  await redis.del(NAME)
  await hold.release()
  return words
}

const READ = {
  behind: [
    ['fails', /^fails/],
    ['enters', /^(enters|not excluded)/],
    ['refused', /^(waits|refused)/],
  ],
  ours: [
    ['WRONG_TYPE', /^`WRONG_TYPE` at once/],
    ['not excluded', /^not excluded/],
    ['waits', /^(writers: )?waits/],
  ],
  late: [
    ['gone', /(deletes|replaces) ours/],
    ['stays', /ours stays/],
  ],
}

/** @returns {Promise<Map<string, { behind: string, ours: string, late: string }>>} what the page says, by the first cell */
async function said() {
  const table = /\n## Library by library\n(.*?)\n## /s.exec(await readFile(PAGE, 'utf8'))?.[1] ?? ''
  const rows = table.split('\n').filter((line) => line.startsWith('| '))
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()))
  return new Map(
    cells.map(([, library, , , , , behind, ours, late]) => [
      (library ?? '').replaceAll('`', ''),
      Object.fromEntries(
        Object.entries({ behind, ours, late }).map(([column, text]) => [
          column,
          READ[column].find(([, words]) => words.test(text ?? ''))?.[0],
        ]),
      ),
    ]),
  )
}

/** @returns {Promise<boolean>} whether each does what the page says */
export async function rulesHold(url) {
  const redis = new Redis(url)
  const locks = await LockClient.connect(url, { foreignLocks: 'wait' })
  locks.on('lost', () => undefined)
  const page = await said()
  let isRight = true
  for (const rule of RULES) {
    await redis.flushall()
    const [library, how, back] = rule
    const row = [...page].find(([first]) => first.startsWith(library))?.[1]
    const words = await seen(redis, locks, rule)
    const wrong = Object.keys(words).filter((column) => words[column] !== row?.[column])
    isRight &&= wrong.length === 0
    const told = `behind ours ${words.behind}, ours behind it ${words.ours}, ours after its late release ${words.late}`
    console.log(`${library}, takes ${how}, ${back}: ${told}`)
    wrong.forEach((column) =>
      console.log(`  THE PAGE SAYS ${row?.[column] ?? 'nothing'} of it where it was ${words[column]}`),
    )
  }
  await locks.close({ graceMs: 0 })
  redis.disconnect()
  return isRight
}
