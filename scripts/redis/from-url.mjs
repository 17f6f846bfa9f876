import { ping } from './ping.mjs'

/**
 * The Redis that the environment names. It is used as it is and never stopped.
 *
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis | undefined>}
 */
export const fromUrl = async () => {
  const url = process.env.REDIS_URL
  if (!url) return undefined
  try {
    await ping(url)
  } catch (error) {
    const reason = error.message || error.code
    throw new Error(`REDIS_URL is set, but no Redis answers at ${withoutPassword(url)}: ${reason}`, {
      cause: error,
    })
  }
  return { url, how: 'REDIS_URL', stop: async () => undefined }
}

/** @param {string} url */
const withoutPassword = (url) => url.replace(/\/\/[^@/]*@/, '//***@')
