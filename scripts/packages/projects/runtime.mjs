// Tests what a runtime must do for Holdfast, seen from a project of a user: every entry loads in both formats, and with each
// client a lock excludes, wakes, renews, is lost when it is released by force, and outlives a broken connection and a
// killed process. Arguments: `ioredis` or `redis`, and the entries to load; `--hold NAME` holds a lock until it is
// killed.
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createRequire } from 'node:module'
import { connect as connectTo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { LockClient, LockLostError } from '@holdfast/core'
import { expressLocks } from '@holdfast/core/http'
import { exclusive } from '@holdfast/core/schedule'

// A busy machine may let a process stand still for a second and more.
const LEASE_MS = 4_000
const url = process.env.REDIS_URL
const [client, ...rest] = process.argv.slice(2)

const connect = async () => {
  const options = { lockWatchdogTimeout: LEASE_MS, bareCalls: 'allow' }
  if (client === 'ioredis')
    return { locks: await LockClient.connect(url, options), end: async () => undefined }
  const { createClient } = await import('redis')
  const redis = createClient({ url }).on('error', () => undefined)
  await redis.connect()
  return { locks: await LockClient.connect(redis, options), end: () => redis.close() }
}

const waiter = (locks, name) =>
  new Promise((resolve) => locks.on('waiting', (event) => event.lockName === name && resolve()))

const hold = async (name) => {
  const { locks } = await connect()
  await locks.getLock(name).lock()
  console.log('held')
}

const check = async () => {
  const require = createRequire(import.meta.url)
  for (const entry of rest) {
    const names = Object.keys(await import(entry)).filter(
      (name) => !['default', 'module.exports'].includes(name),
    )
    assert.ok(names.length > 0, `${entry} exports something`)
    const required = require(entry)
    for (const name of names) assert.ok(name in required, `require('${entry}') has ${name}`)
  }
  const [one, other] = await Promise.all([connect(), connect()])
  const [a, b] = [one.locks, other.locks]
  try {
    for (const kind of KINDS) {
      const name = `runtime:${kind}`
      const held = await a[kind](name).acquire()
      const parked = kind === 'getSpinLock' ? undefined : waiter(b, name)
      const waiting = b[kind](name).acquire({ waitMs: 20_000 })
      await parked
      assert.equal(await b[kind](name).tryAcquire(), null, `${kind} excludes`)
      await held.release()
      assert.equal(await (await waiting).release(), 'released', `${kind} wakes`)
    }
    await contexts(a)
    await contextsOfListeners()
    await others(a, b)
    await losses(a, b)
    await entries(a)
  } finally {
    await Promise.all([a.close(), b.close()])
    await Promise.all([one.end(), other.end()])
  }
  console.log('ok')
}

const KINDS = ['getLock', 'getFairLock', 'getSpinLock', 'getFencedLock', 'getNonReentrantLock']

const contexts = async (locks) => {
  const lock = locks.getLock('runtime:context')
  await locks.run(async () => {
    await lock.lock()
    await sleep(1)
    await lock.lock()
    assert.equal(await lock.getHoldCount(), 2, 'a context re-enters across await')
    const fork = locks.fork(() => lock.tryLock())
    assert.equal(await fork, false, 'a fork is another owner')
    await lock.unlock()
    await lock.unlock()
  })
  assert.equal(await lock.isLocked(), false)
}

/** A row of docs/contexts.md: which listeners have the context in which they were added. */
const contextsOfListeners = async () => {
  const context = new AsyncLocalStorage()
  const seenBy = (listen) =>
    context.run('own', () => new Promise((resolve) => listen(() => resolve(context.getStore()))))
  const timeout = await seenBy((seen) => AbortSignal.timeout(5).addEventListener('abort', seen))
  const { hostname, port } = new URL(url)
  const socket = context.run('of the socket', () => connectTo(Number(port || 6379), hostname))
  const data = await seenBy((seen) => socket.once('data', seen).write('PING\r\n'))
  socket.destroy()
  const { bun, deno } = process.versions
  assert.equal(timeout, bun || deno ? undefined : 'own', 'the listener of AbortSignal.timeout')
  assert.equal(data, deno ? undefined : 'of the socket', 'the listener of a socket')
}

const others = async (a, b) => {
  const both = a.getReadWriteLock('runtime:rw')
  const read = await both.readLock().acquire()
  assert.equal(
    await b.getReadWriteLock('runtime:rw').writeLock().tryAcquire(),
    null,
    'readers exclude writers',
  )
  await read.release()
  const many = await a.getMultiLock(a.getLock('runtime:m1'), a.getLock('runtime:m2')).acquire()
  assert.equal(await b.getLock('runtime:m2').tryLock(), false, 'a multi lock has its members')
  await many.release()
  const pool = a.getSemaphore('runtime:pool')
  await pool.trySetPermits(1)
  await pool.withPermits(async () => assert.equal(await b.getSemaphore('runtime:pool').tryAcquire(), false))
  const latch = a.getCountDownLatch('runtime:latch')
  await latch.trySetCount(1)
  const open = b.getCountDownLatch('runtime:latch').await()
  await latch.countDown()
  await open
}

const losses = async (a, b) => {
  const renewed = await a.getLock('runtime:renewed').acquire()
  // Longer than a lease: it lives on renewals.
  await sleep(LEASE_MS * 1.5)
  assert.equal(renewed.signal.aborted, false, 'a held lock is renewed')
  await renewed.verify()
  const lost = once(renewed.signal, 'abort').catch(() => undefined)
  a.on('lost', () => undefined)
  await b.getLock('runtime:renewed').forceUnlock()
  if (!renewed.signal.aborted) await lost
  assert.ok(renewed.signal.reason instanceof LockLostError, 'a holder is told of a forced release')

  const kept = await a.getLock('runtime:broken').acquire()
  const next = b.getLock('runtime:broken').acquire({ waitMs: 20_000 })
  await breakConnections()
  await kept.release()
  await (await next).release()

  const child = spawn(process.execPath, [...again(), client, '--hold', 'runtime:killed'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  assert.equal(await a.getLock('runtime:killed').tryLock(), false, 'another process has it')
  child.kill('SIGKILL')
  const free = await a.getLock('runtime:killed').acquire({ waitMs: LEASE_MS * 10 })
  await free.release()
}

/** How this file is run once more. */
const again = () => {
  const file = fileURLToPath(import.meta.url)
  if (process.versions.deno) return ['run', '--allow-all', '--node-modules-dir=manual', file]
  return process.versions.bun ? ['run', file] : [file]
}

const breakConnections = async () => {
  const { Redis } = await import('ioredis')
  const admin = new Redis(url)
  await admin.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await admin.client('KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes')
  admin.disconnect()
}

const entries = async (locks) => {
  const task = exclusive('runtime:task', { locks, atMostForMs: 60_000 }, () => 'done')
  assert.equal((await task()).kind, 'ran', 'a task runs')
  const middleware = expressLocks(locks)
  const response = new EventEmitter()
  await new Promise((resolve) => middleware({}, response, resolve))
  response.emit('close')
}

await (rest[0] === '--hold' ? hold(rest[1]) : check())
