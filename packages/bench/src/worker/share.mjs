// One refreshes, the others wait for the result: as a share, and by hand with SET NX and a poll.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { getShare } from '@holdfast/core/share'
import { connect, optionsFor } from '../connection.mjs'
import { now } from './holding.mjs'

const LEASE_MS = 10_000
const POLL_MS = 100
const PUSH = "return redis.call('publish', KEYS[1], '1')"

let place = null

/** Connections that both ways need, and a place to hear a bare push. */
export const openShare = async ({ url, name }) => {
  const options = optionsFor(url, false)
  const [redis, commands, subscriber] = await Promise.all([1, 2, 3].map(() => connect(options)))
  const locks = await LockClient.connect(redis)
  const sha1 = await commands.script('LOAD', PUSH)
  place = { name, redis, commands, subscriber, locks, share: getShare(locks, name), sha1, ended: null }
  await subscriber.subscribe(`${name}:push`)
}

export const closeShare = async () => {
  await place.locks.close()
  for (const connection of [place.redis, place.commands, place.subscriber]) connection.disconnect()
}

const work = async (workMs) => {
  await sleep(workMs)
  place.ended = now()
  return 'a result'
}

const byHand = async (key, workMs) => {
  const { commands } = place
  if ((await commands.set(`${key}:lock`, '1', 'PX', LEASE_MS, 'NX')) === 'OK') {
    const result = await work(workMs)
    await commands.set(key, result, 'PX', LEASE_MS)
    return result
  }
  for (;;) {
    const result = await commands.get(key)
    if (result !== null) return result
    await sleep(POLL_MS)
  }
}

/** @returns when its function ended, ns, null: it ran nowhere here; and when each caller had the result */
export const callShare = async ({ way, key, callers, workMs }) => {
  const { name, share } = place
  place.ended = null
  const call = () => (way === 'share' ? share.run(key, () => work(workMs)) : byHand(`${name}:${key}`, workMs))
  const had = await Promise.all(
    Array.from({ length: callers }, async () => ((await call()) === 'a result' ? now() : 0)),
  )
  return { ended: place.ended, had: had.filter((at) => at > 0) }
}

/** @returns when the next bare push was heard, ns */
export const heardPush = () =>
  new Promise((resolve) => place.subscriber.once('message', () => resolve(now())))

/** @returns when it began, ns */
export const barePush = async () => {
  const from = now()
  await place.commands.evalsha(place.sha1, 1, `${place.name}:push`)
  return from
}
