import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { RedisCluster, RedisServer } from '@holdfast/faults/harness'

let cluster: RedisCluster

// Two seconds pass before a fresh cluster takes writes, so the tests share one and leave it whole.
beforeAll(async () => {
  cluster = await RedisCluster.start()
})
afterAll(() => cluster.stop())

const slotOf = async (key: string): Promise<number> =>
  Number(await cluster.nodes[0]!.command('CLUSTER', 'KEYSLOT', key))
const moved = (slot: number, owner: RedisServer): string => `MOVED ${slot} 127.0.0.1:${owner.port}`
const otherThan = async (owner: RedisServer): Promise<RedisServer> => {
  const primaries = await Promise.all([0, 8_000, 16_383].map((slot) => cluster.primaryOf(slot)))
  return primaries.find((primary) => primary !== owner)!
}

describe('RedisCluster', () => {
  test('keys go to the owners of their slots', async () => {
    expect(cluster.nodes).toHaveLength(6)
    const owners = new Set<RedisServer>()
    for (const key of ['a', 'b', 'c', 'foo', '{foo}:1']) {
      const slot = await slotOf(key)
      const owner = await cluster.primaryOf(slot)
      owners.add(owner)
      expect(await owner.command('SET', key, 1)).toBe('OK')
      await expect((await otherThan(owner)).command('GET', key)).rejects.toThrow(moved(slot, owner))
      expect(await cluster.replicasOf(owner)).toHaveLength(1)
    }
    expect(owners.size).toBe(3)
    await expect(cluster.primaryOf(16_384)).rejects.toThrow(RangeError)
  })

  test('a migrated slot takes its keys along and answers MOVED from the old node', async () => {
    const slot = await slotOf('{migrated}')
    const from = await cluster.primaryOf(slot)
    const to = await otherThan(from)
    const keys = Array.from({ length: 250 }, (_, i) => `{migrated}:${i}`)
    await from.command('MSET', ...keys.flatMap((key) => [key, 'x']))
    await from.command('PEXPIRE', '{migrated}:0', 60_000)
    await cluster.migrateSlot(slot, to)
    expect(await cluster.primaryOf(slot)).toBe(to)
    expect(await to.command('CLUSTER', 'COUNTKEYSINSLOT', slot)).toBe(250)
    expect(await to.command('PTTL', '{migrated}:0')).toBeGreaterThan(0)
    await expect(from.command('GET', '{migrated}:1')).rejects.toThrow(moved(slot, to))
    await expect(cluster.migrateSlot(slot, to)).rejects.toThrow('already')
  })

  test('until a migration is finished the old node answers ASK for what it has not', async () => {
    const slot = await slotOf('{asked}')
    const from = await cluster.primaryOf(slot)
    const to = await otherThan(from)
    await from.command('SET', '{asked}', 1)
    const migration = await cluster.beginMigration(slot, to)
    expect(await from.command('GET', '{asked}')).toBe('1')
    await migration.moveKeys()
    await expect(from.command('GET', '{asked}')).rejects.toThrow(`ASK ${slot} 127.0.0.1:${to.port}`)
    await expect(to.command('GET', '{asked}')).rejects.toThrow(moved(slot, from))
    await migration.finish()
    expect(await to.command('GET', '{asked}')).toBe('1')
    await expect(from.command('GET', '{asked}')).rejects.toThrow(moved(slot, to))
  })

  test('a replica takes over, with and without the consent of its primary', async () => {
    const slot = await slotOf('b')
    const former = await cluster.primaryOf(slot)
    const [replica] = await cluster.replicasOf(former)
    await former.command('SET', 'b', 1)
    await cluster.failOver(replica!)
    expect(await cluster.primaryOf(slot)).toBe(replica)
    expect(await replica!.command('GET', 'b')).toBe('1')
    await expect(former.command('GET', 'b')).rejects.toThrow(moved(slot, replica!))
    await cluster.failOver(former, 'TAKEOVER')
    expect(await cluster.primaryOf(slot)).toBe(former)
    await cluster.healReplication()
  })

  test('a killed primary is replaced, without what its replica was cut off from', async () => {
    const slot = await slotOf('foo')
    const former = await cluster.primaryOf(slot)
    const [replica] = await cluster.replicasOf(former)
    await former.command('SET', '{foo}kept', 1)
    await cluster.healReplication() // resolves when replicas are in sync
    await cluster.cutReplication(former)
    await former.command('SET', '{foo}lost', 1)
    await former.kill()
    expect(await cluster.newPrimaryOf(slot, former)).toBe(replica)
    expect(await replica!.command('MGET', '{foo}kept', '{foo}lost')).toEqual(['1', null])
    await former.restart()
    await cluster.healReplication()
    expect(await cluster.replicasOf(replica!)).toEqual([former])
  })
})
