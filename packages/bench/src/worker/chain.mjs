// The floor of every hand-off: a script publishes, and a subscriber in another process hears it. No lock.
import { connect, optionsFor } from '../connection.mjs'
import { now } from './holding.mjs'

const PUSH = "return redis.call('publish', KEYS[1], '1')"

/** This process's place in the chain. */
let place = null

/** Takes the place `index` of a ring of `size`: what it hears it passes on to the next. */
export const join = async ({ url, name, index, size }) => {
  const options = optionsFor(url, false)
  const [commands, subscriber] = await Promise.all([connect(options), connect(options)])
  const sha1 = await commands.script('LOAD', PUSH)
  const channel = (at) => `${name}:${at}`
  const push = (to) => commands.evalsha(sha1, 1, channel(to))
  place = { commands, subscriber, push, hops: 0, passesOn: false, heard: () => undefined }
  subscriber.on('message', () => {
    place.hops += 1
    if (place.passesOn) void push((index + 1) % size)
    place.heard(now())
  })
  await subscriber.subscribe(channel(index))
}

/** From now on messages go round; one place begins. */
export const start = ({ begins }) => {
  Object.assign(place, { hops: 0, passesOn: true })
  return begins ? place.push(1) : undefined
}

/** @returns how many messages were passed on here since the last look */
export const hops = () => {
  const { hops: count } = place
  place.hops = 0
  return count
}

/** Nothing is passed on any more; the connections close. */
export const leave = async () => {
  place.passesOn = false
  place.commands.disconnect()
  place.subscriber.disconnect()
}

/** Pushes once. @returns when that began, ns */
export const push = async ({ to }) => {
  const from = now()
  await place.push(to)
  return from
}

/** @returns when the next push was heard, ns */
export const pushed = () => new Promise((resolve) => (place.heard = resolve))
