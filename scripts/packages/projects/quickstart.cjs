/* global console, process */
const { setTimeout: pay } = require('node:timers/promises')
const { LockClient } = require('@holdfast/core')

async function main() {
  const locks = await LockClient.connect(process.env.REDIS_URL ?? 'redis://localhost:6379')
  const lock = locks.getLock('stock:42')

  let stock = 1
  const outcomes = ['Ann', 'Bob'].map((buyer) =>
    lock.withLock(async (hold) => {
      if (stock === 0) return `${buyer}: sold out`
      await pay(10, undefined, { signal: hold.signal })
      stock -= 1
      return `${buyer}: bought it`
    }),
  )
  console.log((await Promise.all(outcomes)).join(', '))

  await locks.close()
}

main()
