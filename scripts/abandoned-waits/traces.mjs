import { setFlagsFromString } from 'node:v8'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** Timers that keep the process alive. */
export const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

/** Heap in use, bytes, when what nobody needs is gone. */
export const heapInUse = async () => {
  for (let i = 0; i < 3; i += 1) {
    collect()
    await sleep(20)
  }
  return process.memoryUsage().heapUsed
}

/**
 * What a client keeps of callers, by its own account. Its fields are private to TypeScript only; where one is called
 * otherwise one day, this fails.
 */
const keptBy = ({ session }) => ({
  callers: session.waiter.size,
  lines: session.waiter.lines.size,
  refusals: session.lastHolders.byKey.size,
  holds: session.held.all.length,
  'background work': session.background.size,
})

/** @returns {string[]} what of it is not nothing */
export const tracesIn = (client, timersBefore) =>
  Object.entries({ ...keptBy(client), timers: timers() - timersBefore })
    .filter(([, count]) => count !== 0)
    .map(([what, count]) => `${count} ${what}`)
