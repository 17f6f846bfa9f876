import { expect } from '@jest/globals'
import { eventually } from '../support/rig.js'
import { describe, it, useRig, useSmallPrograms } from '../support/together.js'

const CODE = 'HOLDFAST_HOLD_OUTLIVES_CONTEXT'

describe('a context that ends with levels still held', () => {
  const harness = useRig({ redis: 'all' })
  const start = useSmallPrograms()
  const given = (): string => `const NAME = '${harness.name()}'; const lock = locks.getLock(NAME)
    async function forgetful() { await lock.lock() }\n`
  const END = `\nawait new Promise(setImmediate); await locks.close({ graceMs: 0 })`

  const waysToEnd: Record<string, string> = {
    run: 'await locks.run(forgetful)',
    fork: 'await locks.fork(forgetful)',
    'withLock of another name': "await locks.getLock(NAME + ':b').withLock(forgetful)",
    'a decorated method': `
      const { Locked } = await import('@holdfast/core/decorators')
      const decorate = Locked({ client: locks, name: () => NAME + ':b', onBusy: 'wait', onRedisError: 'throw' })
      await decorate(forgetful, { kind: 'method', name: 'forgetful', static: false, private: false, addInitializer() {} }).call({})`,
    'a request': `
      const { expressLocks } = await import('@holdfast/core/http')
      const { createServer } = await import('node:http')
      const answered = (request, response) => forgetful().then(() => response.end())
      const server = createServer((request, response) =>
        expressLocks(locks)(request, response, () => void answered(request, response)))
      await new Promise((resolve) => server.listen(0, resolve))
      await (await fetch('http://127.0.0.1:' + server.address().port)).text()
      await new Promise((resolve) => server.close(resolve))`,
    'a multi lock': `
      const both = locks.getMultiLock(lock, locks.getLock(NAME + ':b'))
      await locks.run(async function forgetful() { await both.lock() })`,
    'a multi lock of another client': `
      const others = await LockClient.connect(url)
      const theirs = locks.getMultiLock(others.getLock(NAME))
      await locks.run(async function forgetful() { await theirs.lock() })
      await others.close({ graceMs: 0 })`,
    'a call that was not awaited': 'await locks.run(() => void forgetful()); await forgetfulIsOver()',
  }
  const OVER = `
    const forgetfulIsOver = async () => { while (!(await lock.isLocked())); await new Promise(setImmediate) }\n`

  it.each(Object.keys(waysToEnd))('is told of, with where it was taken: %s', async (how) => {
    const program = start(`${given()}${OVER}${waysToEnd[how]!}${END}`)
    expect([await program.ended(), program.warnings(CODE)]).toEqual([0, 1])
    expect(program.stderr).toMatch(/Lock "[^"]+" is still held although[^]*Taken: lock\(\)[^]*forgetful/)
  })

  it('is told of once for each name, and the lock stays: who works on has it, and can release it', async () => {
    const program = start(`${given()}
      const task = await locks.run(async () => {
        await lock.lock()
        return { done: new Promise((resolve) => setTimeout(resolve, 50)).then(() => lock.unlock()) }
      })
      console.log('held', await lock.isLocked())
      await task.done
      console.log('released', !(await lock.isLocked()))
      await locks.run(forgetful)
      await lock.forceUnlock()${END}`)
    expect(await program.ended()).toBe(0)
    expect(program.stdout).toBe('held true\nreleased true\n')
    expect(program.warnings(CODE)).toBe(1)
  })

  it("with 'keep' nothing is said", async () => {
    const program = start(`${given()}await locks.run(forgetful)${END}`, { client: { onContextEnd: 'keep' } })
    expect([await program.ended(), program.stderr]).toEqual([0, ''])
  })

  it('a withLock that re-entered another one and outlives it is told of once for each name', async () => {
    const program = start(`${given()}
      const inner = () => lock.withLock(() => new Promise((resolve) => setTimeout(resolve, 20)))
      for (let i = 0; i < 2; i++) {
        const [job] = await lock.withLock(() => [inner()])
        await job
      }${END}`)
    expect([await program.ended(), program.warnings('HOLDFAST_REENTRY_NOT_AWAITED')]).toEqual([0, 1])
  })

  it.each([
    ['run that releases', 'await locks.run(async () => { await lock.lock(); await lock.unlock() })'],
    [
      'a release that was not awaited',
      'await locks.run(async () => { await lock.lock(); void lock.unlock() })',
    ],
    ['withLock in withLock', 'await lock.withLock(() => lock.withLock(() => undefined))'],
    [
      'siblings in withLock, one of which fails',
      `const later = (fail) => lock.withLock(() => new Promise((ok, no) => setTimeout(fail ? no : ok, 20)))
       await lock.withLock(() => Promise.all([later(false), later(false)]))
       await lock.withLock(() => Promise.all([later(true), later(false)])).catch(() => lock.withLock(() => undefined))`,
    ],
  ])('nothing is said of %s', async (_what, code) => {
    const program = start(`${given()}${code}${END}`)
    expect([await program.ended(), program.stderr]).toEqual([0, ''])
  })

  it("with 'release' the signal aborts, the holder has graceMs, and the lock is free then", async () => {
    const locks = await harness.client({ onContextEnd: 'release', graceMs: 300 })
    const lock = locks.getLock(harness.name())
    const hold = await locks.run(() => lock.acquire())
    const endedAt = performance.now()
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'context-ended' })
    expect(await lock.isLocked()).toBe(true)
    await (await (await harness.client()).getLock(harness.name()).acquire()).release()
    expect(performance.now() - endedAt).toBeGreaterThan(200)
  })

  it("with 'release' the lock is free as soon as its holder has released every level", async () => {
    const locks = await harness.client({ onContextEnd: 'release', graceMs: 20_000 })
    const lock = locks.getLock(harness.name())
    const holds = await locks.run(async () => [await lock.acquire(), await lock.acquire()])
    expect(await holds[0]!.release()).toBe('lost')
    expect(await lock.isLocked()).toBe(true)
    expect(await holds[1]!.release()).toBe('lost')
    await eventually(async () => !(await lock.isLocked()))
  })

  it("with 'release' a multi lock of two clients is released in both", async () => {
    const options = { onContextEnd: 'release', graceMs: 0 } as const
    const [home, other] = [await harness.client(options), await harness.client(options)]
    const both = home.getMultiLock(home.getLock(harness.name('a')), other.getLock(harness.name('b')))
    const hold = await home.run(() => both.lock())
    expect(hold.signal.aborted).toBe(true)
    await eventually(async () => !(await both.isLocked()) && (await harness.keysLeft()).length === 0)
  })

  it("with 'release' close() cuts the grace period short, and leaves nothing (I5)", async () => {
    const locks = await harness.client({ onContextEnd: 'release', graceMs: 20_000 })
    await locks.run(() => locks.getLock(harness.name()).lock())
    await locks.close()
    expect(await harness.keysLeft()).toEqual([])
  })
})
