import { REPLAY_GUARD_TTL_MS } from '../../../core/build/scripts/replay-guard.js'
import { grantQueueKey, INBOX_PREFIX, tombstonePrefix, unlockChannel } from '../../../core/build/keys.js'
import { acquireScript, releaseScript } from '../../../core/build/scripts/lock.js'
import { connect } from '../connection.mjs'

const LEASE_MS = '30000'

/**
 * What Holdfast sends for one uncontended pair, as arguments of EVALSHA. `assertSameCommands` holds it against
 * what Holdfast really sends when a pair is alone.
 *
 * @param {string} name
 */
export const rawCommands = (name) => {
  const tombstones = tombstonePrefix(name)
  const [line, channel] = [grantQueueKey(name), unlockChannel(name)]
  const [acquireSha, releaseSha] = [acquireScript.sha1, releaseScript.sha1]
  return {
    acquire: (owner) => [
      acquireSha,
      2,
      name,
      tombstones + owner,
      owner,
      '1',
      LEASE_MS,
      '1',
      '0',
      REPLAY_GUARD_TTL_MS,
    ],
    release: (owner) => [
      releaseSha,
      2,
      name,
      line,
      owner,
      '0',
      '2',
      '0',
      REPLAY_GUARD_TTL_MS,
      channel,
      'PUBLISH',
      '0',
      INBOX_PREFIX,
    ],
  }
}

/** The same scripts with the same keys and arguments, and nothing around them: what there is to reach. */
export const raw = {
  name: 'raw scripts',
  kind: 'raw',
  polls: false,
  package: 'ioredis',
  calls: { evalsha: 2, hset: 1, hdel: 1, publish: 1 },
  async load() {
    return async ({ options, runId }) => {
      const redis = await connect(options)
      for (const { lua } of [acquireScript, releaseScript]) await redis.script('LOAD', lua)
      // A value as long as the owner that Holdfast writes.
      const client = `bench-${process.pid}~${runId.padEnd(21, '0')}`
      let threads = 0
      return {
        flow(name) {
          const { acquire, release } = rawCommands(name)
          return async () => {
            const owner = `${client}:${(threads += 1)}`
            if ((await redis.evalsha(...acquire(owner))) !== 1) throw new Error(`${name} was not free`)
            if ((await redis.evalsha(...release(owner))) < 4) throw new Error(`${name} was lost`)
          }
        },
        close: () => redis.quit(),
      }
    }
  },
}
