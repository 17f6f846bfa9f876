import type { DiscoveryService } from '@nestjs/core'

/** The members of a worker of BullMQ that nothing else has. */
interface WorkerLike {
  close(): Promise<unknown>
  getNextJob(token: string): unknown
  isRunning(): boolean
}

/**
 * Closes the workers that providers are or keep, as `WorkerHost` of `@nestjs/bullmq` does, and waits for their jobs. The
 * order in which Nest tells global modules of the end is that of their registration: theirs may come after ours. Closing
 * one again does nothing. Never rejects: who made it is told why it failed.
 */
export async function workersClosed(discovery: Pick<DiscoveryService, 'getProviders'>): Promise<void> {
  const workers = new Set<WorkerLike>()
  for (const { instance } of discovery.getProviders() as { instance: unknown }[]) {
    for (const each of [instance, ...keptBy(instance)].flat()) {
      if (isWorker(each)) {
        workers.add(each)
      }
    }
  }
  await Promise.allSettled([...workers].map(async (worker) => worker.close()))
}

/** Without calling a getter, which may do anything. */
function keptBy(instance: unknown): unknown[] {
  return typeof instance === 'object' && instance !== null
    ? Object.values(Object.getOwnPropertyDescriptors(instance)).map(({ value }) => value as unknown)
    : []
}

function isWorker(value: unknown): value is WorkerLike {
  return (
    typeof value === 'object' &&
    value !== null &&
    (['close', 'getNextJob', 'isRunning'] as const).every(
      (method) => typeof (value as Partial<WorkerLike>)[method] === 'function',
    )
  )
}
