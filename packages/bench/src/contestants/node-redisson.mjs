import { once } from 'node:events'

const opened = (flowOf) => async () => {
  const { Redisson } = await import('node-redisson')
  return async ({ options }) => {
    const redisson = new Redisson({ redis: { options } })
    // It opens its connections itself and tells nobody when they are there.
    if (redisson.redis.status !== 'ready') await once(redisson.redis, 'ready')
    return { flow: (name) => flowOf(redisson, name), close: () => redisson.quit() }
  }
}

const common = {
  name: 'node-redisson',
  kind: 'peer',
  package: 'node-redisson',
  polls: false,
  // It sends every second DEL; the other is that of a script.
  sends: { evalsha: 1, del: 0.5, subscribe: 1, unsubscribe: 1 },
  // An unlock deletes the lock, and then, by a command of its own, the latch it has set.
  calls: { evalsha: 2, hincrby: 2, del: 2, publish: 1 },
}

const pair = async (lock, during) => {
  await lock.lock()
  if (during) await during()
  await lock.unlock()
}

export const nodeRedisson = {
  ...common,
  load: opened((redisson, name) => {
    const lock = redisson.getLock(name)
    return (during) => pair(lock, during)
  }),
}

/** The README asks for the lock at each use. */
export const nodeRedissonDefault = {
  ...common,
  load: opened((redisson, name) => (during) => pair(redisson.getLock(name), during)),
}
