import { expect } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { describe, it, useRig, useSmallPrograms, itAtOnce } from '../support/together.js'

const WARNED = /\[HOLDFAST_BARE_CALLS\] HoldfastWarning: Lock "[^"]+": a call outside any context has waited/
const CODE = 'HOLDFAST_BARE_CALLS'

// Waits that are ended by it are nobody's concern any more.
const END = `
process.on('unhandledRejection', (error) => { if (error.code !== 'CLIENT_CLOSED') throw error })
process.once('SIGTERM', () => locks.close({ graceMs: 0 }))`

describe('a wait for oneself, outside contexts', () => {
  const rig = useRig({ redis: 'all' })
  const start = useSmallPrograms()
  const given = (name = rig.name()): string => `const NAME = '${name}'; const lock = locks.getLock(NAME)\n`

  const waysToTake: Record<string, string> = {
    'lock()': 'await lock.lock()',
    'tryLock()': 'await lock.tryLock()',
    'acquire()': 'globalThis.hold = await lock.acquire()',
    'acquire() of a thread': 'globalThis.hold = await locks.thread().getLock(NAME).acquire()',
    'run that ended': 'await locks.run(() => lock.acquire())',
  }
  const waysToWait: Record<string, string> = {
    'lock()': 'lock.lock()',
    'acquire()': 'lock.acquire()',
    'withLock()': 'lock.withLock(() => undefined)',
    'withLock() of another object': 'locks.getLock(NAME).withLock(() => undefined)',
    'acquire() of a multi lock': "locks.getMultiLock(lock, locks.getLock(NAME + ':b')).acquire()",
  }
  const ways = Object.keys(waysToTake).flatMap((take) =>
    Object.keys(waysToWait).map((wait) => ({ name: `${take}, then ${wait}`, take, wait })),
  )
  // Each way to take with one way to wait, and each way to wait with one way to take.
  itAtOnce(
    'is told of after 2 s, once, with both places and three ways out',
    ways.filter(({ take, wait }) => take === 'acquire()' || wait === 'withLock()'),
    async ({ name, take, wait }) => {
      const program = start(`${given(rig.name(name))}
        async function outer() { ${waysToTake[take]!}; await inner() }
        async function inner() { await ${waysToWait[wait]!} }
        void outer().catch(() => undefined)
        void new Promise((resolve) => setTimeout(resolve, 500)).then(inner).catch(() => undefined)
        // The other that waits is not told of: it would be by then.
        process.on('warning', ({ code }) => {
          if (code === '${CODE}') setTimeout(() => locks.close({ graceMs: 0 }), 1_000)
        })
      `)
      expect(await program.ended()).toBe(0)
      expect(program.stderr).toMatch(WARNED)
      expect(program.stderr).toMatch(/\(1\)[^]*withLock\([^]*run\([^]*\(2\)[^]*thread\([^]*\(3\)[^]*waitMs/)
      expect(program.warnings(CODE)).toBe(1)
      expect(program.stderr).toMatch(/Waiting: [^]*inner/)
      expect(program.stderr).toMatch(/Holding: [^]*at /)
      expect(program.stderr).not.toContain('not recorded')
    },
  )

  it('a forgotten release is told of to the next caller', async () => {
    const program = start(`${given()}
      async function forgetful() { await lock.lock() }
      await forgetful()
      void forgetful()${END}`)
    await program.said(WARNED)
    await program.said(/Holding: lock\(\)[^]*forgetful/)
    program.kill('SIGTERM')
    expect(await program.ended()).toBe(0)
  })

  it('a forgotten release of somebody who came before it in the queue is told of, too', async () => {
    const program = start(`${given()}
      const first = await lock.acquire()
      async function forgetful() { await lock.lock() }
      void forgetful()
      void lock.withLock(() => undefined)
      setTimeout(() => first.release(), 500)${END}`)
    await program.said(/Holding: lock\(\)[^]*forgetful/)
    program.kill('SIGTERM')
    expect(await program.ended()).toBe(0)
  })

  const silent: Record<string, string> = {
    'a wait for another client': `
      const others = await LockClient.connect(process.env.REDIS_URL)
      const hold = await others.getLock(NAME).acquire()
      setTimeout(() => hold.release(), 2_600)
      await lock.withLock(() => undefined)
      await others.close()`,
    'a wait for a withLock of the same client': `
      const long = lock.withLock(() => new Promise((resolve) => setTimeout(resolve, 2_600)))
      await Promise.all([long, lock.withLock(() => undefined), lock.acquire().then((hold) => hold.release())])`,
    'lock, try and finally, many at a time, one after another for more than 2 s': `
      const one = async () => {
        await lock.lock()
        try {
          await new Promise((resolve) => setTimeout(resolve, 50))
        } finally {
          await lock.unlock()
        }
      }
      await Promise.all(Array.from({ length: 60 }, one))`,
    'a lock that changes hands, each time before 2 s are over': `
      const work = () => new Promise((resolve) => setTimeout(resolve, 750))
      const first = await lock.acquire()
      const inTurn = [1, 2, 3].map(async () => {
        const hold = await lock.acquire()
        await work()
        await hold.release()
      })
      await work()
      await first.release()
      await Promise.all(inTurn)`,
    'a tryLock that is checked before its try and finally': `
      const one = async () => {
        if (!(await lock.tryLock())) return
        try {
          await new Promise((resolve) => setTimeout(resolve, 5))
        } finally {
          await lock.unlock()
        }
      }
      for (let i = 0; i < 20; i += 1) await Promise.all(Array.from({ length: 20 }, one))`,
    'a wait with a limit': `
      const hold = await lock.acquire()
      await lock.tryLock(2_600)
      await lock.acquire({ waitMs: 1 }).catch(() => undefined)
      await hold.release()`,
    '1,000 requests, by each way to take a lock': `
      const work = () => new Promise((resolve) => setImmediate(resolve))
      const ways = [
        (own) => own.withLock(work),
        async (own) => { const hold = await own.acquire(); try { await work() } finally { await hold.release() } },
        async (own) => { await own.lock(); try { await work() } finally { await own.unlock() } },
        async (own) => { if (await own.tryLock()) try { await work() } finally { await own.unlock() } },
        (own) => locks.run(async () => { await own.lock(); try { await own.withLock(work) } finally { await own.unlock() } }),
      ]
      const shared = Array.from({ length: 10 }, (_, i) => locks.getLock(NAME + i))
      await Promise.all(Array.from({ length: 1_000 }, (_, i) => ways[i % ways.length](shared[(i * 7) % 10])))`,
  }
  const situations = Object.keys(silent).map((name) => ({ name }))
  itAtOnce('nothing is said of', situations, async ({ name }) => {
    const program = start(`${given(rig.name(name))}${silent[name]!}\nawait locks.close()`)
    const code = await program.ended()
    expect([code, program.stderr]).toEqual([0, ''])
  })

  it('a wrong password is an error that says so, and no wait for oneself', async () => {
    const server = await RedisServer.start()
    try {
      await server.command('CONFIG', 'SET', 'requirepass', 'right')
      const client = `
        import { Redis } from 'ioredis'
        const redis = new Redis(process.env.PRIVATE_URL).on('error', () => undefined)
        const own = new LockClient(redis, { unavailableTimeoutMs: 2_500 })
        await own.getLock('a').acquire()`
      const env = { PRIVATE_URL: server.url.replace('redis://', 'redis://:wrong@') }
      const program = start(client, { env })
      expect(await program.ended()).toBe(1)
      expect(program.stderr).toContain('WRONGPASS')
      expect(program.warnings(CODE)).toBe(0)
    } finally {
      await server.stop()
    }
  })

  it("bareCalls 'allow' says nothing", async () => {
    const program = start(
      `${given()}
      await lock.acquire()
      void lock.withLock(() => undefined).catch(() => undefined)
      setTimeout(() => locks.close({ graceMs: 0 }), 2_600)`,
      { client: { bareCalls: 'allow' } },
    )
    expect([await program.ended(), program.stderr]).toEqual([0, ''])
  })
})

describe('a refused tryLock() and the unlock() of its finally', () => {
  const rig = useRig({ redis: 'all' })
  const start = useSmallPrograms()
  const program = `
    async function refusedRequest() {
      try {
        if (await lock.tryLock()) console.log('got it')
      } finally {
        await lock.unlock()
      }
    }`

  it('another client has the lock: the error names the mistake, and the lock stays', async () => {
    const hold = await (await rig.client()).getLock(rig.name()).acquire()
    const child = start(`const lock = locks.getLock('${rig.name()}')
      ${program}
      await refusedRequest()`)
    expect(await child.ended()).toBe(1)
    expect(child.stderr).toMatch(
      /NotLockOwnerError[^]*tryLock\(\) that returned false holds nothing[^]*if \(await/,
    )
    await hold.verify()
    await hold.release()
  })

  it('another caller of the object has it: a warning by name, with both places; its own unlock is told, too', async () => {
    const child = start(`const lock = locks.getLock('${rig.name()}')
      ${program}
      async function holdingRequest() { await lock.lock() }
      await holdingRequest()
      await refusedRequest()
      await lock.unlock()`)
    expect(await child.ended()).toBe(1)
    expect(child.warnings(CODE)).toBe(1)
    expect(child.stderr).toMatch(/unlock\(\) was called by a caller that tryLock\(\) had refused/)
    expect(child.stderr).toMatch(/Unlocking: [^]*refusedRequest[^]*Holding: [^]*holdingRequest/)
    expect(child.stderr).toMatch(/NotLockOwnerError[^]*A tryLock\(\) of this object was refused before/)
  })
})
