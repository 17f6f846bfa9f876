import { seatsAtRest } from './at-rest.mjs'
import { namesFor, semaphoreNamed } from './names.mjs'

const HELD_BY_EACH = 2

/**
 * Everybody holds permits and nothing is on its way. Half of the processes are killed: of permits without an end
 * exactly theirs are lost, those that end are all back after a lease at the latest, also what a watchdog renewed.
 *
 * @param {import('../torture/fleet.mjs').Fleet} fleet
 * @param {{ kinds: string[], leaseMs: number }} run
 * @returns {Promise<{ killed: number, held: number, lost: number, backMs: number, problems: string[] }>}
 */
export const deaths = async (fleet, { kinds, leaseMs }) => {
  const { observer } = fleet
  const count = fleet.workers.length
  const permits = HELD_BY_EACH * count
  const names = namesFor('deaths', kinds, 1)
  for (const name of names) await semaphoreNamed(observer, name).trySetPermits(permits)
  const [pool, seats] = ['semaphore', 'permits'].map((kind) => names.find((name) => name.startsWith(kind)))
  const what = { pool, seats, permits: HELD_BY_EACH, leaseMs }
  await Promise.all(fleet.workers.map(({ process }) => process.call('hold', what)))
  const dying = fleet.workers.slice(0, Math.floor(count / 2))
  let killedAt
  for (const worker of dying) {
    killedAt = performance.now()
    await fleet.replace(worker)
  }
  const held = pool ? HELD_BY_EACH * dying.length : 0
  const problems = []
  const expectFree = async (expected, when) => {
    if (!pool) return
    const free = await observer.getSemaphore(pool).availablePermits()
    if (free !== expected) problems.push(`I2 ${pool}: ${free} permits are free ${when}, not ${expected}`)
  }
  await expectFree(0, 'after the kills')
  // The living renew one each of those that end, and the rest comes back.
  await seatsAtRest(observer, seats ? [seats] : [], { permits: permits - (count - dying.length), leaseMs })
  const backMs = performance.now() - killedAt
  problems.push(...(await stillHeld(observer, seats, { permits, living: count - dying.length })))
  await Promise.all(fleet.workers.map(({ process }) => process.call('giveBack')))
  await expectFree(permits - held, 'when the living gave theirs back')
  const free = pool ? await observer.getSemaphore(pool).availablePermits() : permits
  const left = await seatsAtRest(observer, seats ? [seats] : [], { permits, leaseMs: 0 })
  for (const { name, free: back } of left) {
    if (back !== permits) problems.push(`I2 ${name}: ${back} of ${permits} permits came back`)
  }
  return { killed: dying.length, held, lost: permits - free, backMs, problems }
}

const stillHeld = async (observer, seats, { permits, living }) => {
  if (!seats) return []
  const semaphore = observer.getPermitExpirableSemaphore(seats)
  const free = await semaphore.availablePermits()
  const expected = permits - living
  return free === expected
    ? []
    : [`I2 ${seats}: ${free} permits are free a lease after the kills, not ${expected}`]
}
