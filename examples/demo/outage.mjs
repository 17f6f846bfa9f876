import { Crew } from './crew.mjs'
import { STEP_LIMIT_MS } from './settings.mjs'
import { stoppableRedis } from './stoppable-redis.mjs'
import { within } from './time.mjs'

export const title = 'Outage: a method decorated by @Locked, and Redis stops'

const PROCESSES = 2
const CALLS_EACH = 4
const CALLS = PROCESSES * CALLS_EACH
// How long a call waits for Redis to answer before it does what it was told.
const WAIT_MS = 250
const POLICIES = ['throw', 'skip', 'run']

/** @param {import('./stage.mjs').Stage} stage */
export const play = async ({ crew, prefix, say }) => {
  const redis = await stoppableRedis(crew.redisUrl)
  const own = new Crew(redis.url)
  try {
    const names = Array.from({ length: PROCESSES }, (_, index) => `payer-${index + 1}`)
    const payers = await own.start(names)
    say(`${PROCESSES} processes call pay() ${CALLS_EACH} times each, all at once:`)
    const before = await payAll(payers, { lockName: `${prefix}:payment`, onBusy: 'wait' })
    say(`with Redis: ${before.ran} ran, ${before.most} at a time`)
    await redis.stop()
    say(`${redis.how} ...`)
    const after = {}
    for (const onRedisError of POLICIES) {
      after[onRedisError] = await payAll(payers, {
        lockName: `${prefix}:payment`,
        onRedisError,
        waitMs: WAIT_MS,
      })
      say(`onRedisError: '${onRedisError}': ${inWords(after[onRedisError])}`)
    }
    return { claims: claimsOf(before, after) }
  } finally {
    await own.stop()
    await redis.stop()
  }
}

/** Outcomes of all calls of all processes. */
const payAll = async (payers, options) => {
  const calls = payers.map((payer) => payer.call('pay', { calls: CALLS_EACH, ...options }))
  const answers = (await within(Promise.all(calls), 2 * STEP_LIMIT_MS, 'end of the calls')).flat()
  const runs = answers.filter(({ from }) => from !== undefined)
  return {
    ran: runs.length,
    most: Math.max(
      0,
      ...runs.map(({ from }) => runs.filter((run) => run.from <= from && from < run.to).length),
    ),
    threw: answers.filter(({ error }) => error === 'REDIS_UNAVAILABLE').length,
    skipped: answers.filter(({ skipped }) => skipped).length,
  }
}

const inWords = ({ ran, most, threw, skipped }) =>
  `${ran} ran${ran > 0 ? ` (up to ${most} at a time)` : ''}, ${threw} threw, ${skipped} gave undefined`

const claimsOf = (before, after) => {
  const claim = (policy, what, expected, ok) => ({
    claim: `Redis stopped, onRedisError '${policy}': ${what}`,
    expected,
    seen: inWords(after[policy]),
    ok,
  })
  const { throw: thrown, skip, run } = after
  return [
    {
      claim: 'A decorated method runs once at a time, in all processes',
      expected: `${CALLS} ran, 1 at a time`,
      seen: `${before.ran} ran, ${before.most} at a time`,
      ok: before.ran === CALLS && before.most === 1,
    },
    claim(
      'throw',
      'nobody runs, callers hear of it',
      `${CALLS} threw`,
      thrown.threw === CALLS && thrown.ran === 0,
    ),
    claim('skip', 'rather nobody', `${CALLS} gave undefined`, skip.skipped === CALLS && skip.ran === 0),
    claim('run', 'rather several', `${CALLS} ran, several at a time`, run.ran === CALLS && run.most > 1),
  ]
}
