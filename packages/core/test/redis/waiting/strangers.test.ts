import { expect } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { type SmallProgram } from '../support/small-program.js'
import { describe, it, useRig, useSmallPrograms } from '../support/together.js'

interface Mistake {
  /** `locks`, `lock` and its NAME are there. */
  readonly program: string
  /** The sign of the mistake: a warning's code, or an error's class. */
  readonly by: string
  /** It names the mistake, and what to do instead. */
  readonly says: RegExp
  readonly exitCode: 0 | 1
}

// Waits for oneself, and the unlock of a refused tryLock(), are in self-waits.test.ts.
const mistakes: Record<string, Mistake> = {
  'a forgotten await': {
    program: 'lock.lock(); await lock.unlock()',
    by: 'NotLockOwnerError: ',
    says: /Was `await` forgotten[^]*no-floating-promises/,
    exitCode: 1,
  },
  'a forgotten unlock': {
    program: `
      async function charge() { await lock.lock() }
      for (let i = 0; i < 2; i += 1) {
        await locks.run(charge)
        await lock.forceUnlock()
      }
      await locks.close()`,
    by: '[HOLDFAST_HOLD_OUTLIVES_CONTEXT]',
    says: /is still held although the context[^]*Release it in a `finally`[^]*Taken: lock\(\)[^]*charge/,
    exitCode: 0,
  },
  'a lease in seconds': {
    program: `
      await lock.lock(90)
      await new Promise((resolve) => setTimeout(resolve, 200))
      await lock.unlock()`,
    by: '[HOLDFAST_SHORT_LEASE]',
    says: /A lease of 90 ms[^]*not seconds: 30 s is 30_000[^]*was lost: its lease of 90 ms[^]*longer leaseMs/,
    exitCode: 1,
  },
}

/** How often something was told on stderr. */
const times = (program: SmallProgram, what: string): number => program.stderr.split(what).length - 1

describe('a mistake of a stranger is told of, once, with what to do instead', () => {
  const rig = useRig({ redis: 'all' })
  const start = useSmallPrograms()
  const given = (): string => `const NAME = '${rig.name()}'; const lock = locks.getLock(NAME)\n`

  it.each(Object.entries(mistakes))('%s', async (_what, { program: code, by, says, exitCode }) => {
    const program = start(given() + code)
    const end = await program.ended()
    await (await rig.client()).getLock(rig.name()).forceUnlock()
    expect(program.stderr).toMatch(says)
    expect(times(program, by)).toBe(1)
    expect(end).toBe(exitCode)
  })

  it('no close: what was locked is free, the process ends by itself, and nothing is said', async () => {
    const program = start(`${given()}await lock.withLock(() => undefined); console.log('done')`)
    expect([await program.ended(), program.stdout, program.stderr]).toEqual([0, 'done\n', ''])
    expect(await (await rig.client()).getLock(rig.name()).isLocked()).toBe(false)
  })

  describe('about Redis', () => {
    const withServer = async (work: (server: RedisServer) => Promise<void>): Promise<void> => {
      const server = await RedisServer.start()
      try {
        await work(server)
      } finally {
        await server.stop()
      }
    }

    it('a wrong password: at once, without a retry', () =>
      withServer(async (server) => {
        await server.command('CONFIG', 'SET', 'requirepass', 'right')
        const program = start('', { env: { REDIS_URL: server.url.replace('redis://', 'redis://:wrong@') } })
        expect(await program.ended()).toBe(1)
        expect(program.stderr).toMatch(/RedisUnavailableError: Cannot connect to Redis: WRONGPASS/)
        expect(times(program, 'RedisUnavailableError: ')).toBe(1)
        expect(program.stderr).not.toContain('HOLDFAST_')
      }))

    it('Redis is down at the start: why, what to check, and how long it is tried', () =>
      withServer(async (server) => {
        await server.kill()
        const program = start('', {
          env: { REDIS_URL: server.url },
          client: { unavailableTimeoutMs: 2_500 },
        })
        await program.said(/No connection to Redis for 2000 ms: connect ECONNREFUSED[^]*unavailableTimeoutMs/)
        expect(await program.ended()).toBe(1)
        expect(program.warnings('HOLDFAST_CONNECTING')).toBe(1)
        expect(times(program, 'RedisUnavailableError: No connection to Redis within 2500 ms')).toBe(1)
        expect(program.stderr).toMatch(/Check that Redis runs, and the host, port and password/)
      }))

    it('Redis dies in a callback: within 3 s why, what to check, and how long the lock is still held', () =>
      withServer(async (server) => {
        const program = start(
          `await locks.getLock('a').withLock(() => new Promise((resolve) => {
            process.once('SIGUSR2', resolve)
            console.log('inside')
          }))
          console.log('done')
          await locks.close()`,
          { env: { REDIS_URL: server.url } },
        )
        await program.said(/inside/)
        await server.kill()
        await program.said(
          /No connection to Redis for 2500 ms: connect ECONNREFUSED[^]*Check that Redis runs[^]*"a"[^]*another 2\d\.\d s/,
        )
        // The lease goes on: nothing is lost yet, and the work may end.
        expect(program.stderr).not.toContain('was lost')
        program.kill('SIGUSR2')
        await program.said(/done/)
        expect(await program.ended()).toBe(0)
        expect(program.warnings('HOLDFAST_UNREACHABLE')).toBe(1)
      }))

    it('Redis is away for a moment in a callback: nothing is said', () =>
      withServer(async (server) => {
        const program = start(
          `const { setTimeout: later } = await import('node:timers/promises')
          await locks.getLock('a').withLock(async () => {
            const away = new Promise((resolve) => process.once('SIGUSR2', resolve))
            console.log('inside')
            await away
            await later(3_000)
          })
          await locks.close()`,
          { env: { REDIS_URL: server.url } },
        )
        await program.said(/inside/)
        await server.command('CLIENT', 'KILL', 'TYPE', 'normal')
        program.kill('SIGUSR2')
        expect([await program.ended(), program.stderr]).toEqual([0, ''])
      }))

    it('Redis dies in a callback, and its lease ends: the signal aborts, and the error says why and what to do', () =>
      withServer(async (server) => {
        const program = start(
          `await locks.getLock('a').withLock(async ({ signal }) => {
            console.log('inside')
            await new Promise((resolve) => signal.addEventListener('abort', resolve))
            console.log('aborted')
          })`,
          { env: { REDIS_URL: server.url }, client: { lockWatchdogTimeout: 2_400 } },
        )
        await program.said(/inside/)
        await server.kill()
        expect(await program.ended()).toBe(1)
        expect(program.stdout).toContain('aborted')
        expect(program.stderr).toMatch(
          /LockLostError: Lock "a" was lost: renewals failed, and its lease of 2400 ms[^]*Stop the work/,
        )
        expect(program.warnings('HOLDFAST_LOST')).toBe(0)
      }))
  })
})

describe('a correct service', () => {
  const rig = useRig({ redis: 'all' })
  const start = useSmallPrograms()

  it('answers 1,000 requests, and nothing is said', async () => {
    const program = start(`
      const { createServer } = await import('node:http')
      const { expressLocks } = await import('@holdfast/core/http')
      const NAME = '${rig.name()}'
      const seats = locks.getSemaphore(NAME + ':seats')
      await seats.trySetPermits(5)
      const stock = Array.from({ length: 10 }, () => 1_000)

      const turn = () => new Promise((resolve) => setImmediate(resolve))
      async function sell(item, lock) {
        const left = stock[item]
        await turn()
        stock[item] = left - 1
      }
      const ways = [
        (item, lock) => lock.withLock(() => sell(item)),
        (item, lock) => lock.withLock(() => lock.withLock(() => sell(item))),
        async (item, lock) => { await lock.lock(); try { await sell(item) } finally { await lock.unlock() } },
        async (item, lock) => {
          const hold = await lock.acquire({ waitMs: 20_000 })
          try { await sell(item) } finally { await hold.release() }
        },
        (item, lock) => seats.withPermits(() => lock.withLock(() => sell(item))),
      ]
      const inContext = expressLocks(locks)
      const server = createServer((request, response) => inContext(request, response, async () => {
        const order = Number(request.url.slice(1))
        const item = order % stock.length
        try {
          await ways[Math.floor(order / stock.length) % ways.length](item, locks.getLock(NAME + ':' + item))
          response.end()
        } catch (error) {
          console.error(error)
          response.writeHead(500).end()
        }
      }))
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      const address = 'http://127.0.0.1:' + server.address().port + '/'
      let order = 0
      const customer = async () => {
        while (order < 1_000) await (await fetch(address + order++)).text()
      }
      await Promise.all(Array.from({ length: 20 }, customer))
      console.log(stock.join())
      await new Promise((resolve) => { server.close(resolve); server.closeAllConnections() })
      await locks.close()`)
    const code = await program.ended()
    await rig.admin.del(rig.name('lock:seats'))
    expect([code, program.stderr]).toEqual([0, ''])
    expect(program.stdout).toBe(`${Array.from({ length: 10 }, () => 900).join()}\n`)
  })
})

describe('an unlock() after a lock() that was not awaited', () => {
  const rig = useRig({ redis: 'all' })
  const start = useSmallPrograms()
  const HINT = /NotLockOwnerError[^]*Was `await` forgotten[^]*@typescript-eslint\/no-floating-promises/
  const programs: Record<string, string> = {
    'outside contexts': 'lock.lock(); await lock.unlock()',
    'in run': 'await locks.run(async () => { lock.lock(); await lock.unlock() })',
    'in withLock of another lock':
      "await locks.getLock(lock.name + ':b').withLock(async () => { lock.tryLock(1_000); await lock.unlock() })",
    'of a multi lock, outside contexts':
      'const both = locks.getMultiLock(lock); both.lock(); await both.unlock()',
    'of a multi lock, in run': `const both = locks.getMultiLock(lock, locks.getLock(lock.name + ':b'))
      await locks.run(async () => { both.lock(); await both.unlock() })`,
  }

  it.each(Object.keys(programs))('has an error that hints at it: %s', async (where) => {
    const program = start(`const lock = locks.getLock('${rig.name()}')
      const attempt = async () => { ${programs[where]!} }
      await attempt().catch((error) => console.log(error.name, error.message))
      // The forgotten call may be under way yet.
      process.on('unhandledRejection', (error) => { if (error.code !== 'CLIENT_CLOSED') throw error })
      await locks.close({ graceMs: 0 })`)
    expect(await program.ended()).toBe(0)
    expect(program.stdout).toMatch(HINT)
  })

  it('says nothing of await where no call is under way', async () => {
    const lock = (await rig.client()).getLock(rig.name())
    await expect(lock.unlock()).rejects.toThrow(/^(?![^]*await)/)
  })
})
