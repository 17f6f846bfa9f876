import { locked } from '@holdfast/bullmq'
import { Queue, Worker } from 'bullmq'

/** Starts the queue of paid orders, and a worker of it in this process. */
export const startShipping = ({ locks, orders, partners, config, log }) => {
  const { redisUrl, prefix, leaseMs } = config
  const ofQueue = { connection: { url: redisUrl, maxRetriesPerRequest: null }, prefix }
  const queue = new Queue('shipping', ofQueue)

  const ship = async ({ data: { id } }, _token, signal) => {
    const order = await orders.find(id)
    const parcel = order.parcel ?? (await partners.send(order, signal))
    await orders.markShipped(id, parcel)
  }
  // A warehouse has one dock. A job that finds it busy goes back to the queue, and the worker takes another one.
  const processor = locked(ship, { locks, name: ({ data }) => `dock:${data.warehouse}` })
  const worker = new Worker('shipping', processor, {
    ...ofQueue,
    concurrency: 5,
    // After a kill, the job comes back when the lease of its dock ends, and not much later.
    lockDuration: leaseMs,
    stalledInterval: leaseMs,
  })
  worker.on('failed', (job, error) => log.error({ order: job?.data.id, err: error }, 'not shipped'))
  worker.on('error', (error) => log.error({ err: error }, 'worker'))
  queue.on('error', (error) => log.error({ err: error }, 'queue'))

  return {
    /** The id of the job is that of the order: an order is in the queue once. */
    add: ({ id, warehouse }) =>
      queue.add(
        'ship',
        { id, warehouse },
        {
          jobId: id,
          attempts: 5,
          backoff: { type: 'exponential', delay: 1_000 },
          removeOnComplete: true,
          removeOnFail: true,
        },
      ),
    /** Waits for the jobs that run. */
    async close() {
      await worker.close()
      await queue.close()
    },
  }
}
