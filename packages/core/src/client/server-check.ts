import { warn } from '../events.js'
import type { RedisPort } from '../redis/redis-port.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { tooOld } from '../redis/failures.js'

/**
 * Asks Redis for its version and policy, once per client, as soon as there is a connection. The question is sent
 * before any command, so that its reply precedes theirs. A server that does not say is no error, and one that does
 * not answer must not delay `close`.
 * @returns resolves when the reply has arrived, or none will come
 */
export function askServer(services: {
  readonly port: RedisPort
  readonly runner: Pick<ScriptRunner, 'judge'>
  readonly abandoned: AbortSignal
}): Promise<void> {
  const { port, runner, abandoned } = services
  return new Promise((resolve) => {
    const ask = (): void => {
      const isWanted = (): boolean => !abandoned.aborted
      const report = (info: unknown): void => {
        // A closed client must not warn any more.
        if (isWanted()) {
          warnOfEviction(String(info))
          runner.judge(tooOldIn(String(info)))
        }
        resolve()
      }
      if (port.info('default', { isWanted, answered: report, failed: () => resolve() })) {
        stopListening()
      }
    }
    const stopListening = port.onStateChange(ask)
    ask()
  })
}

/** ZADD with GT and LT needs 6.2. Valkey and Redis imitations report the version whose commands they implement. */
const OLDEST = [6, 2] as const

function tooOldIn(info: string): ReturnType<typeof tooOld> | null {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(info) ?? []
  const isOld = Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1])
  return version !== undefined && isOld ? tooOld(version, OLDEST.join('.')) : null
}

/** @param info the text of INFO; providers may omit any part */
function warnOfEviction(info: string): void {
  const [, policy = 'noeviction'] = /^maxmemory_policy:([\w-]+)/m.exec(info) ?? []
  const [, limit = '0'] = /^maxmemory:(\d+)/m.exec(info) ?? []
  if (policy !== 'noeviction' && Number(limit) > 0) {
    warn(
      'HOLDFAST_EVICTION',
      `Redis may evict locks that are held: its maxmemory-policy is '${policy}' and its maxmemory ${limit} bytes. ` +
        'A lock is a key with a time to live, which this policy may delete when memory runs short; another ' +
        "client can then acquire the lock. Set maxmemory-policy to 'noeviction', or use a separate Redis with that " +
        'policy for locks.',
    )
  }
}
