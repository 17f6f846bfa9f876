import { setTimeout as sleep } from 'node:timers/promises'
import { kindOf, semaphoreNamed } from './names.mjs'

const SLACK_MS = 1_000

/** What is free of permits without an end, and what their truth says. */
export const poolsAtRest = (locks, truth, names) =>
  Promise.all(
    names
      .filter((name) => kindOf(name) === 'semaphore')
      .map(async (name) => ({
        name,
        free: await semaphoreNamed(locks, name).availablePermits(),
        inUse: await truth.inUse(name),
      })),
  )

/** The same of permits that end, a lease later at the latest. */
export const seatsAtRest = async (locks, names, { permits, leaseMs }) => {
  const seats = names.filter((name) => kindOf(name) === 'permits')
  const look = () =>
    Promise.all(
      seats.map(async (name) => {
        const semaphore = semaphoreNamed(locks, name)
        return { name, free: await semaphore.availablePermits(), held: await semaphore.acquiredPermits() }
      }),
    )
  const endsAt = performance.now() + leaseMs + SLACK_MS
  let found = await look()
  while (found.some(({ free }) => free !== permits) && performance.now() < endsAt) {
    await sleep(20)
    found = await look()
  }
  return found
}
