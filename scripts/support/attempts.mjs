import { readFileSync } from 'node:fs'

const NPMRC = readFileSync(new URL('../../.npmrc', import.meta.url), 'utf8')
const OF_NPM = [...NPMRC.matchAll(/^(fetch-[a-z-]+)=(\d+)$/gm)]

/**
 * For the environment of clients of registries: how long they wait for one request, and how often they repeat it. By
 * themselves some wait five minutes, or half an hour, for an answer that never comes.
 */
export const PATIENCE = {
  // npm reads .npmrc in this repository only.
  ...Object.fromEntries(OF_NPM.map(([, name, value]) => [`npm_config_${name.replaceAll('-', '_')}`, value])),
  ...{ PIP_DEFAULT_TIMEOUT: '30', PIP_RETRIES: '2' },
  // Bytes in a second, for so many seconds.
  ...{ GIT_HTTP_LOW_SPEED_LIMIT: '1000', GIT_HTTP_LOW_SPEED_TIME: '30' },
  MAVEN_OPTS: `${process.env.MAVEN_OPTS ?? ''} -Dmaven.wagon.rto=30000 -Daether.connector.requestTimeout=30000`,
}

const LIMITS_MS = [100_000, 200_000, 300_000]

/**
 * Tries what may fail by a registry that breaks off or does not answer: each attempt has more time than the one before.
 *
 * @template Result
 * @param {(limitMs: number) => Promise<Result>} attempt leaves nothing that the next one could take for whole
 * @param {object} [options]
 * @param {number[]} [options.limitsMs] one for each attempt
 * @param {AbortSignal} [options.signal] no attempt begins after it was aborted
 * @param {(error: Error) => boolean} [options.isTriedAgain]
 * @param {(line: string) => void} [options.log]
 * @returns {Promise<Result>}
 */
export const attempts = async (
  attempt,
  { limitsMs = LIMITS_MS, signal, isTriedAgain = () => true, log = console.error } = {},
) => {
  const [limitMs, ...later] = limitsMs
  try {
    return await attempt(limitMs)
  } catch (error) {
    if (later.length === 0 || signal?.aborted || !isTriedAgain(error)) throw error
    log(`tried again: ${error.message}`)
    return attempts(attempt, { limitsMs: later, signal, isTriedAgain, log })
  }
}
