import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Matrix } from './support/matrix.js'
import { pairings, rows, type Row } from './support/rows.js'
import { rawName, setting } from './support/setting.js'
import type { Side } from './support/side.js'
import { eventually, median, useSides } from './support/sides.js'

const WATCHDOG_MS = 1_500
const NAME = 'order:42'
const RAW = rawName(NAME)
// An old read-write lock says nothing, and a multi lock gives the error of a member inside of another.
const OLD_LOSS_ERRORS = ['IllegalMonitorStateException', 'CompletionException']

const sides = useSides()
const matrix = new Matrix('holder → waiter')
afterAll(() => matrix.print())

describe.each(pairings)('%s has it, %s wants it', (holding, wanting) => {
  let holder: Side
  let waiter: Side
  const direction = `${holding} → ${wanting}`
  /** Redisson says nothing when a fair lock that nobody has is unlocked. */
  const expectLost = async (unlocked: Promise<unknown>, row: Row): Promise<void> => {
    if (holding === 'java' && row.held === 'fair') {
      await unlocked
    } else if (holding === 'java' && !setting.hasLossErrors) {
      await unlocked.catch((error: unknown) => expect(OLD_LOSS_ERRORS).toContain((error as Error).name))
    } else {
      const name = holding === 'java' ? 'IllegalMonitorStateException' : 'NotLockOwnerError'
      await expect(unlocked).rejects.toMatchObject({ name })
    }
  }
  const note = (row: Row, column: string, text: string): void =>
    matrix.note(`${row.name}, ${direction}`, column, text)

  beforeAll(async () => {
    const options = { watchdogMs: WATCHDOG_MS, fairWaitMs: 5_000 }
    ;[holder, waiter] = await Promise.all([sides.launch(holding, options), sides.launch(wanting, options)])
  })

  describe.each(rows)('$name', (row) => {
    const hold = (verb: string, options = {}) => holder.call('h', verb, row.held, NAME, options)
    const want = (verb: string, options = {}) => waiter.call('w', verb, row.wanted, NAME, options)

    it('excludes, and lets in after the release', async () => {
      await hold('lock')
      expect(await want('tryLock')).toMatchObject({ value: false })
      if (row.seen !== undefined) {
        expect(await want('isLocked')).toMatchObject({ value: row.seen })
      }
      await hold('unlock')
      expect(await want('tryLock')).toMatchObject({ value: true })
      await want('unlock')
      expect(await row.left(sides.redis)).toEqual([])
      note(row, 'exclusion', '✓')
    })

    it('re-enters, and the other side sees the count, or is refused', async () => {
      await hold('lock')
      if (!row.reenters) {
        const name = holding === 'java' ? 'IllegalMonitorStateException' : 'NotReentrantError'
        await expect(hold('lock')).rejects.toMatchObject({ name })
        await expect(hold('tryLock', { wait: 60_000 })).rejects.toMatchObject({ name })
        await hold('unlock')
        expect(await row.counts(sides.redis, RAW)).toEqual([])
        note(row, 're-entry', 'refused')
        return
      }
      await hold('lock')
      expect(await row.counts(sides.redis, RAW)).toEqual(row.levels(2))
      await hold('unlock')
      expect(await row.counts(sides.redis, RAW)).toEqual(row.levels(1))
      expect(await want('tryLock')).toMatchObject({ value: false })
      await hold('unlock')
      expect(await row.counts(sides.redis, RAW)).toEqual([])
      note(row, 're-entry', '✓')
    })

    it('wakes the other side', async () => {
      const times: number[] = []
      for (let i = 0; i < 20; i += 1) {
        await hold('lock')
        const waiting = want('lock')
        await row.untilWaiting(sides.redis, RAW)
        const { from } = await hold('unlock')
        const { to } = await waiting
        times.push(to - from)
        await want('unlock')
      }
      expect(median(times)).toBeLessThan(WATCHDOG_MS / 3)
      note(row, 'wake-up', `${median(times).toFixed(1)} ms`)
    })

    it('ends a wait at its limit', async () => {
      await hold('lock')
      const { value, from, to } = await want('tryLock', { wait: 300 })
      expect(value).toBe(false)
      expect(to - from).toBeGreaterThanOrEqual(299)
      await hold('unlock')
      note(row, 'time-out of 300 ms', `${(to - from).toFixed(0)} ms`)
    })

    it('lets in when a lease ends', async () => {
      const { to: taken } = await hold('lock', { lease: 600 })
      const { to } = await want('lock')
      expect(to - taken).toBeGreaterThan(500)
      expect(to - taken).toBeLessThan(6_000)
      await want('unlock')
      await expectLost(hold('unlock'), row)
      note(row, 'lease of 600 ms ends', `${(to - taken).toFixed(0)} ms`)
    })

    it('frees by force', async () => {
      if (!row.forces) {
        return
      }
      await hold('lock')
      expect(await waiter.call('w', 'forceUnlock', row.held, NAME)).toMatchObject({ value: true })
      expect(await want('tryLock')).toMatchObject({ value: true })
      await want('unlock')
      await expectLost(hold('unlock'), row)
      note(row, 'force unlock', '✓')
    })

    it('is renewed for as long as it is held', async () => {
      await hold('lock')
      const { value, from, to } = await want('tryLock', { wait: 2 * WATCHDOG_MS })
      expect(value).toBe(false)
      if (row.seen !== undefined) {
        const { value: left } = await holder.call('h', 'ttl', row.held, NAME)
        expect(left).toBeGreaterThan(0)
      }
      await hold('unlock')
      note(row, 'renewal', `held for ${(to - from).toFixed(0)} ms of ${WATCHDOG_MS}`)
    })
  })
})

describe.each(pairings)('%s is killed with it, %s wants it', (holding, wanting) => {
  let waiter: Side
  beforeAll(async () => {
    waiter = await sides.launch(wanting, { watchdogMs: WATCHDOG_MS, fairWaitMs: 5_000 })
  })

  it('all kinds: the lock is free within a lease', async () => {
    const holder = await sides.launch(holding, { watchdogMs: WATCHDOG_MS, fairWaitMs: 5_000 })
    const names = rows.map((row) => `${row.name}:${NAME}`)
    await Promise.all(rows.map((row, i) => holder.call(`h${i}`, 'lock', row.held, names[i]!)))
    const waits = rows.map((row, i) => waiter.call(`w${i}`, 'lock', row.wanted, names[i]!))
    await eventually(async () => (await sides.redis.dbsize()) >= rows.length)
    await holder.kill()
    const killedAt = Number(process.hrtime.bigint()) / 1e6
    for (const [i, wait] of waits.entries()) {
      const { to } = await wait
      expect(to - killedAt).toBeLessThan(WATCHDOG_MS + 3_000)
      matrix.note(`${rows[i]!.name}, ${holding} → ${wanting}`, 'SIGKILL', `${(to - killedAt).toFixed(0)} ms`)
      await waiter.call(`w${i}`, 'unlock', rows[i]!.wanted, names[i]!)
    }
  })
})
