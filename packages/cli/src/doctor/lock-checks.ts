import { once } from 'node:events'
import type { LockClient } from '@holdfast/core'
import { observe } from '@holdfast/core/observe'
import type { Redis } from 'ioredis'
import type { AnyRedis } from '../connection.js'
import { printable } from '../terminal.js'
import { error, warning, type Finding, type Unchecked } from './finding.js'

const KEYS_A_STEP = 200
const MOST_KEYS = 200_000
const MOST_NAMED = 5

const RIGHTS = 'docs/acl.md lists the rights that locks need, as one ACL SETUSER.'

/** Whether this user may run scripts, and hears messages. A client that could not be opened says why. */
export async function checkRights(
  redis: AnyRedis,
  opened: LockClient | Error,
  timeoutMs: number,
): Promise<Finding[]> {
  const findings: Finding[] = []
  if (opened instanceof Error) {
    findings.push(error('scripts', `locks cannot be taken: ${opened.message}`, RIGHTS))
  } else {
    const refused = await refusalOf(async () => opened.getLock(PROBE).isLocked())
    if (refused) {
      findings.push(error('scripts', `locks cannot be taken: ${refused.message}`, RIGHTS))
    }
  }
  const silent = await messagesAreMissing(redis, timeoutMs)
  if (silent !== null) {
    const what = 'waiters are not woken: they ask once a second, and a forced release is noticed late'
    findings.push(warning('messages', `${what} (${silent})`, RIGHTS))
  }
  return findings
}

const PROBE = 'holdfast:doctor'
/** Longer than the name of a client's inbox. */
const CHANNEL = 'holdfast:client:doctor'

async function refusalOf(question: () => Promise<unknown>): Promise<Error | null> {
  try {
    await question()
    return null
  } catch (reason) {
    return reason as Error
  }
}

/** @returns why no message comes back; null: it does */
async function messagesAreMissing(redis: AnyRedis, timeoutMs: number): Promise<string | null> {
  const listener = (redis as Redis).duplicate()
  listener.on('error', () => undefined)
  try {
    await listener.subscribe(CHANNEL)
    const heard = once(listener, 'message', { signal: AbortSignal.timeout(timeoutMs) })
    heard.catch(() => undefined)
    await redis.publish(CHANNEL, 'echo')
    await heard
    return null
  } catch (reason) {
    const { name, message } = reason as Error
    return name === 'AbortError' ? `no message came back within ${timeoutMs} ms` : message
  } finally {
    listener.disconnect()
  }
}

interface Suspects {
  readonly endless: string[]
  readonly mixed: string[]
}

/** Where the keys of locks are. */
export interface LockKeys {
  /** Connections that take keys as they are. */
  readonly nodes: readonly Redis[]
  readonly keyPrefix: string
}

/** Looks at the locks that are there: keys without an end, and locks that are used in more than one way. */
export async function checkLocks(
  locks: LockClient,
  { nodes, keyPrefix }: LockKeys,
  unchecked: Unchecked[],
): Promise<Finding[]> {
  const suspects: Suspects = { endless: [], mixed: [] }
  for (const node of nodes) {
    await lookAtKeys(node, keyPrefix, suspects, unchecked)
  }
  const kinds = await kindsByLock(locks)
  return [
    ...named(suspects.endless, (names) =>
      warning(
        'no-end',
        `${names} would be held for ever if its holder died: a lock without a time to live`,
        "Find who uses PERSIST, or a hash as its own data under a lock's name. holdfast who NAME, then holdfast break NAME.",
      ),
    ),
    ...named([...new Set([...suspects.mixed, ...kinds])], (names) =>
      error(
        'mixed-use',
        `${names} is used in two ways at once (as a fair lock and as a plain one, or fenced and not): the order is lost, or tokens are not counted`,
        'Let all clients of one name use the same kind of lock.',
      ),
    ),
  ]
}

function named(names: readonly string[], make: (names: string) => Finding): Finding[] {
  if (names.length === 0) {
    return []
  }
  const shown = names.slice(0, MOST_NAMED).map((name) => printable(name))
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : ''
  return [make(`${shown.join(', ')}${more}`)]
}

const OWNER = /^[^:]+:\d+(:write)?$/
const MOST_FIELDS = 1_000

async function lookAtKeys(
  node: Redis,
  keyPrefix: string,
  suspects: Suspects,
  unchecked: Unchecked[],
): Promise<void> {
  let cursor = '0'
  let seen = 0
  do {
    const [next, keys] = (await node.call('SCAN', cursor, 'COUNT', KEYS_A_STEP, 'TYPE', 'hash')) as [
      string,
      string[],
    ]
    const names = keys
      .filter((key) => key.startsWith(keyPrefix))
      .map((key) => key.slice(keyPrefix.length))
      .filter((name) => !name.startsWith('holdfast:'))
    for (const name of names) {
      await lookAtLock(node, keyPrefix, name, suspects)
    }
    cursor = next
    seen += KEYS_A_STEP
  } while (cursor !== '0' && seen < MOST_KEYS)
  if (cursor !== '0') {
    unchecked.push({ what: 'keys', why: `only about ${MOST_KEYS} were looked at` })
  }
}

async function lookAtLock(
  node: Redis,
  keyPrefix: string,
  name: string,
  { endless, mixed }: Suspects,
): Promise<void> {
  const key = keyPrefix + name
  const [ttl, size] = (await node
    .multi([
      ['call', 'PTTL', key],
      ['call', 'HLEN', key],
    ])
    .exec()
    .then((replies) => replies?.map(([, reply]) => Number(reply)))) ?? [-2, 0]
  if (ttl === undefined || size === undefined || ttl === -2 || size > MOST_FIELDS) {
    return
  }
  if (ttl === -1) {
    const fields = (await node.call('HGETALL', key)) as string[]
    if (isLock(fields) && !(await hasFieldTimes(node, key, fields))) {
      endless.push(name)
    }
    return
  }
  // The prefix stands before all that is made of a name.
  const tagged = name.includes('{') ? name : `{${name}}`
  const [fair, plain] = await Promise.all([
    node.call('EXISTS', `${keyPrefix}redisson_lock_queue:${tagged}`),
    node.call('ZCOUNT', `${keyPrefix}holdfast:line:${tagged}`, '0', '+inf'),
  ])
  if (Number(fair) > 0 && Number(plain) > 0) {
    mixed.push(name)
  }
}

/** Another program's lock may end by the time of its field (HSETEX), which servers know since Redis 7.4 and Valkey 9. */
async function hasFieldTimes(node: Redis, key: string, fields: readonly string[]): Promise<boolean> {
  const names = fields.filter((_, i) => i % 2 === 0)
  const asked = node.call('HPTTL', key, 'FIELDS', names.length, ...names)
  const times = (await asked.catch(() => [])) as number[]
  return times.some((ms) => ms >= 0)
}

function isLock(fields: readonly string[]): boolean {
  const owners = fields.filter((field, i) => i % 2 === 0 && field !== 'mode')
  const counts = fields.filter((_, i) => i % 2 === 1 && fields[i - 1] !== 'mode')
  return (
    owners.length > 0 &&
    owners.every((owner) => OWNER.test(owner)) &&
    counts.every((count) => /^\d+$/.test(count))
  )
}

/** Kinds that look alike in Redis, by what clients with `report` say. */
async function kindsByLock(locks: LockClient): Promise<string[]> {
  const { fresh } = await observe(locks).reports()
  const kinds = new Map<string, Set<string>>()
  for (const { lockName, kind } of fresh.flatMap(({ holds }) => holds)) {
    const alike =
      kind === 'read' || kind === 'write' ? 'read-write' : kind.replace('non-reentrant', 'reentrant')
    kinds.set(lockName, (kinds.get(lockName) ?? new Set()).add(alike))
  }
  return [...kinds].filter(([, all]) => all.size > 1).map(([name]) => name)
}
