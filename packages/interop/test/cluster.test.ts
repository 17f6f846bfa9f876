import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RedisCluster, type RedisServer } from '@holdfast/faults/harness'
import { JavaSide } from './support/java-side.js'
import { Matrix } from './support/matrix.js'
import { NodeSide } from './support/node-side.js'
import { pairings, rows } from './support/rows.js'
import type { Answer, Kind, Side } from './support/side.js'
import { eventually, median } from './support/sides.js'

const NAME = 'order:42'
// Nobody may sit it out.
const LEASE_MS = 20_000
const ROUNDS = 20

let cluster: RedisCluster
const matrix = new Matrix('holder → waiter, on a cluster')
const all: Side[] = []

beforeAll(async () => {
  cluster = await RedisCluster.start({ replicasPerPrimary: 0 })
})
afterAll(async () => {
  matrix.print()
  await Promise.all(all.map((side) => side.kill()))
  await cluster.stop()
})

const launch = async (language: Side['language']): Promise<Side> => {
  const url = (cluster.nodes[0] as RedisServer).url
  const side = await (language === 'java' ? JavaSide : NodeSide).start({ url, cluster: true })
  all.push(side)
  return side
}
const ask = async (...command: string[]): Promise<unknown[]> =>
  Promise.all(cluster.nodes.map((node) => node.command(...command)))
/** Somewhere in the cluster somebody listens to a sharded channel that begins so. */
const isHeard = async (channel: string): Promise<boolean> =>
  ((await ask('PUBSUB', 'SHARDCHANNELS', `${channel}*`)) as string[][]).some(({ length }) => length > 0)
const asMany = async (key: string): Promise<number> => {
  const node = await cluster.primaryOf(Number(await cluster.nodes[0]!.command('CLUSTER', 'KEYSLOT', key)))
  return Number(await node.command('LLEN', key))
}

const sleeping: Partial<Record<Kind, () => Promise<void>>> = {
  spin: () => new Promise((resolve) => setTimeout(resolve, 50)),
  fair: () => eventually(async () => (await asMany(`redisson_lock_queue:{${NAME}}`)) > 0),
  read: () => eventually(() => isHeard(`redisson_rwlock:{${NAME}}`)),
  write: () => eventually(() => isHeard(`redisson_rwlock:{${NAME}}`)),
}

/** The waiter of a kind sleeps: it stands in the queue, or its channel is heard. */
const untilWaiting = (kind: Kind): Promise<void> =>
  (sleeping[kind] ?? (() => eventually(() => isHeard(`redisson_lock__channel:{${NAME}}`))))()

describe.each(pairings)('on a cluster with sharded messages, %s has it, %s wants it', (holding, wanting) => {
  let holder: Side
  let waiter: Side
  const note = (row: string, times: readonly number[]): void =>
    matrix.note(`${row}, ${holding} → ${wanting}`, 'wake-up', `${median(times).toFixed(1)} ms`)

  beforeAll(async () => {
    ;[holder, waiter] = await Promise.all([launch(holding), launch(wanting)])
  })

  it.each(rows)('$name: wakes the other side', async (row) => {
    const times: number[] = []
    for (let i = 0; i < ROUNDS; i += 1) {
      await holder.call('h', 'lock', row.held, NAME, { lease: LEASE_MS })
      expect(await waiter.call('w', 'tryLock', row.wanted, NAME)).toMatchObject({ value: false })
      const waiting = waiter.call('w', 'lock', row.wanted, NAME, { lease: LEASE_MS })
      await untilWaiting(row.wanted)
      const { from } = await holder.call('h', 'unlock', row.held, NAME)
      times.push((await waiting).to - from)
      await waiter.call('w', 'unlock', row.wanted, NAME)
    }
    expect(Math.max(...times)).toBeLessThan(LEASE_MS / 2)
    note(row.name, times)
  })

  /** A semaphore with no permit left, a latch that is closed: somebody waits, and the other side lets it in. */
  const wakes = async (
    row: string,
    channel: string,
    wait: () => Promise<Answer>,
    give: (round: number) => Promise<Answer>,
  ): Promise<void> => {
    const times: number[] = []
    for (let i = 0; i < ROUNDS; i += 1) {
      const waiting = wait()
      await eventually(() => isHeard(channel))
      const { from } = await give(i)
      times.push((await waiting).to - from)
    }
    expect(median(times)).toBeLessThan(500)
    note(row, times)
  }

  it('semaphore: wakes the other side', async () => {
    const name = `tickets ${holding} ${wanting}`
    await holder.call('h', 'trySetPermits', 'semaphore', name, { permits: 1 })
    await holder.call('h', 'acquire', 'semaphore', name)
    await wakes(
      'semaphore',
      `redisson_sc:{${name}}`,
      () => waiter.call('w', 'acquire', 'semaphore', name),
      () => holder.call('h', 'release', 'semaphore', name),
    )
  })

  it('permit-expirable semaphore: wakes the other side', async () => {
    const name = `permits ${holding} ${wanting}`
    await holder.call('h', 'trySetPermits', 'permits', name, { permits: 1 })
    let { value: id } = await holder.call('h', 'acquire', 'permits', name)
    await wakes(
      'permit-expirable semaphore',
      `redisson_sc:{${name}}`,
      async () => {
        const answer = await waiter.call('w', 'acquire', 'permits', name)
        id = answer.value
        return answer
      },
      () => holder.call('h', 'release', 'permits', name, { id: id as string }),
    )
  })

  it('count-down latch: wakes the other side', async () => {
    const name = `latch ${holding} ${wanting}`
    const close = (): Promise<Answer> => holder.call('h', 'trySetCount', 'latch', name, { count: 1 })
    await wakes(
      'count-down latch',
      `redisson_countdownlatch__channel__{${name}}`,
      async () => {
        await close()
        return waiter.call('w', 'await', 'latch', name)
      },
      () => holder.call('h', 'countDown', 'latch', name),
    )
  })
})
