import { expect } from '@jest/globals'
import type { RedisServer } from '@holdfast/faults/harness'
import { mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { RedisUnavailableError } from '../../../src/index.js'
import { nextEvent, outcomeOf, waitBehind } from '../support/outcomes.js'
import { eventually, soon } from '../support/rig.js'
import { describe, it, useRig } from '../support/together.js'

const NAME = 'order:42'

/** Makes a server refuse our scripts; gives what ends it. */
type Refuse = (server: RedisServer) => Promise<() => Promise<unknown>>

const tooFewReplicas: Refuse = async (server) => {
  await server.command('CONFIG', 'SET', 'min-replicas-to-write', 1)
  return () => server.command('CONFIG', 'SET', 'min-replicas-to-write', 0)
}

// To a primary that nobody reaches, so that it keeps what it had.
const demoted: Refuse = async (server) => {
  await server.command('REPLICAOF', '127.0.0.1', 1)
  return () => server.command('REPLICAOF', 'NO', 'ONE')
}

const noPrimary: Refuse = async (server) => {
  await server.command('CONFIG', 'SET', 'replica-serve-stale-data', 'no')
  return demoted(server)
}

/** A directory has the snapshot's name, so that no snapshot can be taken. */
const noSnapshot: Refuse = async (server) => {
  const [, folder] = (await server.command('CONFIG', 'GET', 'dir')) as [string, string]
  const inTheWay = join(folder, 'dump.rdb')
  const snapshot = async (status: string): Promise<void> => {
    await server.command('BGSAVE')
    const isKnown = new RegExp(`rdb_bgsave_in_progress:0[^]*rdb_last_bgsave_status:${status}`)
    await eventually(async () => isKnown.test(String(await server.command('INFO', 'persistence'))))
  }
  await mkdir(inTheWay)
  await server.command('CONFIG', 'SET', 'save', '3600 1000000')
  await snapshot('err')
  return async () => {
    await rmdir(inTheWay)
    await snapshot('ok')
  }
}

describe('a Redis that refuses to write for a while', () => {
  const rig = useRig({ redis: 'test' })

  it.each([
    ['NOREPLICAS', tooFewReplicas],
    ['READONLY', demoted],
    ['MASTERDOWN', noPrimary],
    ['MISCONF', noSnapshot],
  ])('%s: told as REDIS_UNAVAILABLE; releases, waits and holds outlast it', async (code, refuse) => {
    const options = { commandTimeout: 10_000, resyncInterval: 200 }
    const locks = await rig.client({ ...options, lockWatchdogTimeout: 4_500 })
    const others = await rig.client(options)
    const failed = nextEvent(locks, 'renewal-failed')
    const [hold, leaving] = [await locks.getLock(NAME).acquire(), await locks.getLock('leaving').acquire()]
    const { waiting } = await waitBehind(rig, 'leaving', () => others.getLock('leaving').acquire())

    const end = await refuse(rig.server)
    const releasing = leaving.release()
    for (const ask of [
      () => others.getLock(NAME).tryLock(),
      () => others.getLock(NAME).isLocked(),
      () => others.getLock('free').tryLock(),
      () => others.getLock('free').tryLock(1_000),
      () => others.getLock('free').isLocked(),
      () => hold.verify(),
      () => locks.getLock(NAME).forceUnlock(),
    ]) {
      const error = await outcomeOf(ask())
      expect(error).toBeInstanceOf(RedisUnavailableError)
      expect(error).toMatchObject({ outcome: 'refused', transient: true })
      expect((error as RedisUnavailableError).message).toContain(`Redis refused the command: ${code} `)
    }
    expect((await failed).error).toBeInstanceOf(RedisUnavailableError)
    await end()

    expect(await soon(releasing)).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
    await eventually(async () => (await rig.admin.pttl(NAME)) > 4_000)
    expect(hold.signal.aborted).toBe(false)
    await hold.verify()
    expect(await hold.release()).toBe('released')
  })
})
