import { setImmediate } from 'node:timers'
import { LockClient } from '@holdfast/core'
import { writeSync } from 'node:fs'
import { openCarrier } from './open-carrier.mjs'

// Asks for locks of which others have some, and ends its process as soon as it has an answer.
const { targets, how, red } = JSON.parse(process.argv[2])

const urls = [...new Set(targets.map(({ url }) => url))]
const connect = async (url) => {
  const { client } = await openCarrier(url)
  return LockClient.connect(client, { bareCalls: 'allow' })
}
const clients = new Map(await Promise.all(urls.map(async (url) => [url, await connect(url)])))
const locks = clients.get(urls[0])
const over = (suffix) => {
  const members = targets.map(({ url, name }) => clients.get(url).getLock(name + suffix))
  return red ? locks.getRedLock(members, { nodeTimeoutMs: 5_000 }) : locks.getMultiLock(...members)
}
const lock = over('')
const controller = new globalThis.AbortController()
const ways = {
  tryAcquire: () => lock.tryAcquire(),
  tryLock: () => lock.tryLock(),
  'tryLock with a wait': () => lock.tryLock(500),
  'acquire that times out': () => lock.acquire({ waitMs: 500 }),
  'withLock that times out': () => lock.withLock(() => undefined, { waitMs: 500 }),
  'acquire that is aborted while it asks': () => {
    setImmediate(() => controller.abort())
    return lock.acquire({ signal: controller.signal })
  },
  'acquire that is aborted while it waits': () => {
    setTimeout(() => controller.abort(), 60)
    return lock.acquire({ signal: controller.signal })
  },
}

// The scripts are loaded: what is sent next is run as soon as it arrives.
await over(':before').withLock(() => undefined)
const answer = await ways[how]().catch((error) => (error.name === 'AbortError' ? error.name : error.code))
// Nothing between the answer and the end gives a turn to what has not been sent yet.
writeSync(1, String(answer))
process.exit()
