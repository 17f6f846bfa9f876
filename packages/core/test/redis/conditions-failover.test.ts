import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { setImmediate as turn } from 'node:timers/promises'
import type { LockClient, LockEvents } from '../../src/index.js'
import { eventually } from './support/harness.js'
import { usePrivateServer } from './support/private-server.js'

describe('FAILOVER under load', () => {
  const own = usePrivateServer()
  let replica: RedisServer

  beforeEach(async () => {
    replica = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] })
    await replica.command('REPLICAOF', own.server.host, own.server.port)
    await linked(replica)
  })

  afterEach(() => replica.stop())

  const replication = async (server: RedisServer): Promise<string> =>
    String(await server.command('INFO', 'replication'))
  const linked = (follower: RedisServer): Promise<void> =>
    eventually(async () => (await replication(follower)).includes('master_link_status:up'), 10_000)

  /** The primary waits until the other has everything: no lock is lost on the way. */
  const handOver = async (from: RedisServer, to: RedisServer): Promise<void> => {
    await eventually(async () => (await replication(from)).includes('state=online'))
    await from.command('FAILOVER', 'TO', to.host, to.port)
    await eventually(async () => (await replication(from)).includes('role:slave'))
    await linked(from)
  }

  it('clients of the demoted server see no error, lose nothing, and go on when it is back (I1)', async () => {
    // A granted lock is trusted for two ticks until it is confirmed, and a fail-over takes longer than these.
    const options = {
      commandTimeout: 500,
      resyncInterval: 200,
      lockWatchdogTimeout: 15_000,
      pushedGrants: false,
    }
    const clients = [await own.client(options), await own.client(options)]
    const losses: LockEvents['lost'][] = []
    clients.forEach((locks) => locks.on('lost', (event) => losses.push(event)))
    const watched = await clients[0]!.getLock('watched').acquire()
    let [busy, inside, rounds] = [true, 0, 0]
    const flow = async (locks: LockClient): Promise<void> => {
      while (busy) {
        await locks.getLock('order:42').withLock(async () => {
          inside += 1
          expect(inside).toBe(1)
          await turn()
          inside -= 1
        })
        rounds += 1
      }
    }
    const flows = clients.flatMap((locks) => [flow(locks), flow(locks), flow(locks)])
    const thereAndBack = async (): Promise<void> => {
      await handOver(own.server, replica)
      const before = rounds
      await handOver(replica, own.server)
      await eventually(() => rounds > before + 100)
    }
    await thereAndBack().finally(() => (busy = false))
    await Promise.all(flows)
    await watched.verify()
    expect(await watched.release()).toBe('released')
    expect(losses).toEqual([])
  })
})
