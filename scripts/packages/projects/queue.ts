import assert from 'node:assert/strict'
import { LockClient } from '@holdfast/core'
import { locked } from '@holdfast/bullmq'
import { exclusive } from '@holdfast/core/schedule'
import { Queue, QueueEvents, Worker, type Job } from 'bullmq'

// One job under a lock, and one tick, in an empty project.

interface Order {
  readonly id: number
}

async function main(url: string): Promise<void> {
  const { hostname: host, port } = new URL(url)
  const connection = { host, port: Number(port), maxRetriesPerRequest: null }
  const options = { connection, prefix: `installed-${process.pid}` }
  const locks = await LockClient.connect(url)
  const queue = new Queue<Order, string>('orders', options)
  const events = new QueueEvents('orders', options)
  await events.waitUntilReady()
  const work = async (job: Job<Order, string>, _token: unknown, signal: AbortSignal): Promise<string> => {
    signal.throwIfAborted()
    return (await locks.getLock(`order:${job.data.id}`).isHeldByCurrentContext()) ? 'held' : 'free'
  }
  const worker = new Worker<Order, string>(
    'orders',
    locked(work, { locks, name: (job) => `order:${job.data.id}` }),
    options,
  )
  const job = await queue.add('order', { id: 7 })
  assert.equal(await job.waitUntilFinished(events, 60_000), 'held')
  const tick = exclusive(`installed-${process.pid}`, { locks }, ({ tick }) => tick.getTime())
  assert.deepEqual(await tick({ tick: 1_000 }), {
    kind: 'ran',
    result: 1_000,
    tick: new Date(1_000),
    missed: [],
  })
  assert.deepEqual(await tick({ tick: 1_000 }), { kind: 'skipped', reason: 'done' })
  await worker.close()
  await queue.obliterate({ force: true })
  await Promise.all([events.close(), queue.close(), locks.close()])
  console.log('the job held order:7')
}

void main(process.env['REDIS_URL'] ?? 'redis://localhost:6379')
