import { expect } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { describe, it, useRig, useSmallPrograms, itAtOnce } from '../support/together.js'

// Longer than the keeper of the process looks away. The timer itself does not keep the process alive.
const later = (what: string): string => `setTimeout(() => { ${what} }, 2_500).unref()\n`

describe.each(['ioredis', 'node-redis'])('a process whose connection of %s LockClient opened', (CLIENT) => {
  const harness = useRig({ redis: 'all' })
  const start = useSmallPrograms()
  const run = (code: string, { name = harness.name(), env = {}, client = {} } = {}) =>
    start(`const lock = locks.getLock('${name}')\n${code}`, { env: { CLIENT, ...env }, client })
  // If the connections kept it alive, this would run.
  const TOO_LONG = `setTimeout(() => process.exit(7), 8_000).unref()\n`

  const forgetful: Record<string, string> = {
    nothing: '',
    'a lock': 'await lock.withLock(() => undefined)',
    'a lock that had to be waited for': `const hold = await lock.acquire()
      const second = lock.withLock(() => undefined); await hold.release(); await second`,
    'a wait in vain': `const hold = await lock.acquire()
      await locks.run(() => lock.tryLock(500)); await hold.release()`,
    'a lease that ends': "locks.on('lost', () => undefined); await lock.acquire({ leaseMs: 1_000 })",
    'a permit': `const permits = locks.getSemaphore(lock.name + ':permits')
      await permits.trySetPermits(1); await permits.withPermits(() => undefined)`,
  }
  it.each(Object.keys(forgetful))('ends without close(), after %s', async (after) => {
    const program = run(`${TOO_LONG}${forgetful[after]!}\nconsole.log('over')`)
    expect([await program.ended(), program.stdout, program.stderr]).toEqual([0, 'over\n', ''])
    await harness.admin.del(harness.name('lock:permits'))
  })

  it('ends without close() when a lock that lingers has been released in Redis', async () => {
    const idle = `do { await lock.withLock(() => undefined) } while (!(await lock.isLocked()))\nconsole.log('idle')`
    const program = run(`${TOO_LONG}${idle}`, { client: { interop: 'none', lingerMs: 50 } })
    expect([await program.ended(), program.stdout, program.stderr]).toEqual([0, 'idle\n', ''])
    expect(await harness.admin.exists(harness.name())).toBe(0)
  })

  const own: Record<string, string> = {
    ioredis:
      "const { Redis } = await import('ioredis'); const redis = new Redis(url); const end = () => redis.disconnect()",
    'node-redis': `const { createClient } = await import('@redis/client')
      const redis = createClient({ url }); await redis.connect(); const end = () => redis.destroy()`,
  }
  /** Each of these waits for seconds, so that they run at the same time. */
  const lives: Record<string, (name: string) => Promise<void>> = {
    'with a client of the caller, and ends with it, also without close()': async (name) => {
      const program = run(
        `${own[CLIENT]!}
        await locks.close()
        const borrower = new LockClient(redis)
        const name = lock.name + ':borrower'
        const hold = await borrower.getLock(name).acquire()
        const second = borrower.getLock(name).withLock(() => undefined)
        await hold.release()
        await second
        ${later("console.log('lives'); end()")}`,
        { name },
      )
      expect([await program.ended(), program.stdout, program.stderr]).toEqual([0, 'lives\n', ''])
    },
    'while a lock is held, and ends after its release': async (name) => {
      const program = run(
        `const hold = await lock.acquire()
        ${later("console.log('held'); void hold.release().then((result) => console.log(result))")}`,
        { name },
      )
      expect([await program.ended(), program.stdout]).toEqual([0, 'held\nreleased\n'])
    },
    'while a permit is borrowed': async (name) => {
      const program = run(
        `const permits = locks.getPermitExpirableSemaphore(lock.name)
        await permits.trySetPermits(1)
        void permits.withPermit(() => new Promise((resolve) => { ${later('resolve()')} }), { renew: true })
          .then(() => console.log('returned'))`,
        { name },
      )
      expect([await program.ended(), program.stdout]).toEqual([0, 'returned\n'])
      await harness.admin.del(name)
    },
    'while it waits': async (name) => {
      const hold = await (await harness.client()).getLock(name).acquire()
      const program = run(
        `${later("console.log('waits')")}
        await lock.withLock(() => console.log('holds'))`,
        { name },
      )
      await program.said(/waits/)
      await hold.release()
      expect([await program.ended(), program.stdout]).toEqual([0, 'waits\nholds\n'])
    },
    'while a command is under way, however long its answer takes, and while it closes': async (name) => {
      const server = await RedisServer.start()
      try {
        const program = run(
          `await lock.withLock(() => undefined)
          const rest = setInterval(() => undefined, 1_000)
          setTimeout(() => console.log('rested'), 1_500)
          await new Promise((resolve) => process.once('SIGUSR2', resolve))
          clearInterval(rest)
          ${later("console.log('waits')")}
          console.log(await lock.tryLock())
          await lock.unlock()
          await locks.close()
          console.log('closed')`,
          { name, env: { REDIS_URL: server.url }, client: { commandTimeout: 10_000 } },
        )
        await program.said(/rested/)
        await server.pause()
        program.kill('SIGUSR2')
        await program.said(/waits/)
        server.resume()
        expect([await program.ended(), program.stdout]).toEqual([0, 'rested\nwaits\ntrue\nclosed\n'])
      } finally {
        await server.stop()
      }
    },
  }
  itAtOnce(
    'lives',
    Object.keys(lives).map((name) => ({ name })),
    ({ name }) => lives[name]!(harness.name(name)),
  )
})
