import { setTimeout as sleep } from 'node:timers/promises'
import { connect, optionsFor } from './connection.mjs'

/** The least that a renewal does: whose it is, and until when. No answers, no care for what may be there instead. */
const ALONE = `for i, key in ipairs(KEYS) do
  if redis.call('hexists', key, ARGV[i + 1]) == 1 then redis.call('pexpireat', key, ARGV[1]) end
end`

/**
 * The two commands of each lock and nothing else, in scripts as long as those of the contestant and in rows as long,
 * spread over as much time: what Redis takes for that, ms. As EVAL: renewals go on meanwhile, and are EVALSHA.
 *
 * @param {string[]} names of locks that are held, and stay so for longer than this
 */
export const renewalFloor = async (names, { batch, row, leaseMs, cycleMs }, context) => {
  const redis = await connect(optionsFor(context.url, false))
  try {
    const owners = await Promise.all(names.map((name) => redis.hkeys(name)))
    const chunks = Array.from({ length: Math.ceil(names.length / batch) }, (_, i) => i * batch)
    const pauseMs = (cycleMs * row) / chunks.length
    const before = await context.info.timesOf('eval')
    for (const [i, from] of chunks.entries()) {
      const [keys, ofThem] = [names, owners].map((each) => each.slice(from, from + batch))
      await redis.eval(ALONE, keys.length, keys, Date.now() + leaseMs, ofThem.flat())
      if (i % row === row - 1) await sleep(pauseMs)
    }
    return ((await context.info.timesOf('eval')).micros - before.micros) / 1_000
  } finally {
    redis.disconnect()
  }
}
