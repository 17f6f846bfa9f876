import { setImmediate, setTimeout } from 'node:timers'
import { setImmediate as nextLoop, setTimeout as sleep } from 'node:timers/promises'
import { emit, serveWorker } from '@holdfast/testing'
import { nowMs } from '../shared-clock.mjs'
import { seededRandom } from '../torture/random.mjs'
import { Hand } from './hand.mjs'
import { Participant } from './participant.mjs'

// Until the calls are on the wire, which takes much longer there.
const SENT_MS = 5
const FIRST_BLIND_MS = 20

const participant = new Participant()
let settings
let random

/** The process does nothing at all meanwhile, and burns no processor either. */
const block = (ms) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** A user who looks at nothing, with and without a token; and one who asks the hold first. */
const writeBlindly = async (items, round) => {
  await Promise.all(
    items.map(async ({ belief }) => {
      if (belief.isGivenBack) return
      const { lock, owner, hold } = belief
      const atMs = nowMs()
      const { aborted } = hold.signal
      belief.isEnsured()
      participant.history.add('blind', { atMs, lock, owner, aborted, ...round })
      await Promise.all([
        participant.user.set(`unguarded:${lock}`, owner),
        belief.token !== undefined && participant.guardedWrite(belief, { ...round, isBlind: true }),
      ])
    }),
  )
}

/** Blind writes that are due during the pause, one of them as early as it can be. */
const armBlindWrites = (items, { ms, ...round }) => {
  const write = () => writeBlindly(items, round)
  const delays = [FIRST_BLIND_MS, random.between(FIRST_BLIND_MS, Math.max(FIRST_BLIND_MS, ms / 2))]
  return delays.map((delayMs) => new Promise((resolve) => setTimeout(() => resolve(write()), delayMs)))
}

/** In a callback of its own, as a user would block the loop: the library's callbacks come after it. */
const blocked = (ms, write) =>
  new Promise((resolve) => {
    setTimeout(() => {
      block(ms)
      const immediate = new Promise((done) => setImmediate(() => done(write())))
      resolve(Promise.all([write(), immediate]))
    }, 0)
  })

/** Kept is what is trusted; Redis has to know of it as long as that lasts. */
const assess = async ({ belief }, round) => {
  if (belief.isGivenBack) return
  const { lock, owner, hold } = belief
  const isKept = !hold.signal.aborted && belief.look()
  const inRedis = isKept ? await participant.user.hexists(lock, owner) : 0
  const isMissing = isKept && inRedis === 0 && hold.trustedForMs > 0
  participant.history.add('assessed', { lock, owner, ...round, isKept, isMissing })
}

serveWorker({
  async begin({ seed, ...others }) {
    settings = others
    random = seededRandom(seed)
    await participant.open(settings)
  },

  /** Takes locks, is paused with calls under way, and looks at what became of them. */
  async round({ way, ms, part }) {
    const round = { way, part }
    const hand = new Hand(participant, settings)
    await hand.take()
    // So that some pauses come long after the latest renewal and some right after it.
    await sleep(random.between(0, settings.leaseMs / 4))
    const calls = hand.begin()
    await sleep(SENT_MS)
    const writes = armBlindWrites(hand.items, { ms, ...round })
    for (const { belief } of hand.items) belief.look()
    if (way === 'blocked') writes.push(blocked(ms, () => writeBlindly(hand.items, round)))
    else emit('ready')
    await Promise.all(writes)
    // Whatever waited for the loop has been called after this.
    await nextLoop()
    await nextLoop()
    await Promise.all(hand.items.map((item) => assess(item, round)))
    await Promise.all(calls)
    await Promise.all(hand.items.map(({ belief }) => belief.isGivenBack || belief.giveBack()))
    return hand.resumptions
  },

  finish: () => participant.close(),
})
