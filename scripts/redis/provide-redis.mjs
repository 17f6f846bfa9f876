import { fromCompose } from './from-compose.mjs'
import { fromPackageManager } from './from-package-manager.mjs'
import { fromEngine } from './from-engine.mjs'
import { fromNamedProgram, fromPath } from './from-path.mjs'
import { fromTestcontainers } from './from-testcontainers.mjs'
import { fromUrl } from './from-url.mjs'

/**
 * @typedef {object} ProvidedRedis
 * @property {string} url a redis:// URL where a Redis answers
 * @property {string} how where it comes from, for people
 * @property {boolean} [isEmbedded] whether it is the engine of @holdfast/testing, and no Redis
 * @property {() => Promise<void>} stop ends what was started for it, and nothing else
 */

const NO_REDIS = `Holdfast needs a real Redis or Valkey, and there is none. Any one of these will do:
  - set REDIS_URL to a server that may be written to, as in REDIS_URL=redis://localhost:6379
  - put redis-server or valkey-server on the PATH
  - start Docker, so that docker-compose.yml can be used
  - run as root where there is apt-get, or have Homebrew, so that the package manager can install one`

/**
 * Finds or makes a Redis, the first way that is there: REDIS_URL, HOLDFAST_REDIS=testcontainers, the
 * program of HOLDFAST_REDIS_SERVER, the PATH, docker compose, the package manager. A way that is there and fails is named in the error.
 *
 * @param {{ log?: (line: string) => void, mayBeEmbedded?: boolean }} [options] `mayBeEmbedded`: the engine of
 *   @holdfast/testing will do, before a package manager installs anything
 * @returns {Promise<ProvidedRedis>}
 */
export const provideRedis = async ({ log = console.error, mayBeEmbedded = false } = {}) => {
  const wished = (await fromUrl()) ?? (await fromTestcontainers({ log })) ?? (await fromNamedProgram())
  if (wished) return wished
  const failures = []
  const last = mayBeEmbedded ? fromEngine : fromPackageManager
  for (const way of [fromPath, fromCompose, last]) {
    try {
      const redis = await way({ log })
      if (redis) return redis
    } catch (error) {
      log(`this way did not work: ${error.message}`)
      failures.push(error.message)
    }
  }
  throw new Error([NO_REDIS, ...failures.map((failure) => `Tried: ${failure}`)].join('\n'))
}
