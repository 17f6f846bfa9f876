const DEFAULT_IMAGE = 'redis:7-alpine'
const REDIS_PORT = 6379

/**
 * A container through the package testcontainers, when HOLDFAST_REDIS=testcontainers asks for it.
 *
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis | undefined>}
 */
export const fromTestcontainers = async ({ log }) => {
  const wish = process.env.HOLDFAST_REDIS
  if (!wish) return undefined
  if (wish !== 'testcontainers') {
    throw new Error(`HOLDFAST_REDIS can only be 'testcontainers', not '${wish}'`)
  }
  const image = process.env.HOLDFAST_REDIS_IMAGE || DEFAULT_IMAGE
  log(`starting a container of ${image}`)
  // Loaded here only: it is large, and of no use to whoever has a Redis at hand.
  const { GenericContainer, Wait } = await import('testcontainers')
  try {
    const container = await new GenericContainer(image)
      .withExposedPorts(REDIS_PORT)
      .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
      .start()
    const url = `redis://${container.getHost()}:${container.getMappedPort(REDIS_PORT)}`
    return { url, how: `testcontainers, ${image}`, stop: async () => void (await container.stop()) }
  } catch (error) {
    throw new Error(`HOLDFAST_REDIS=testcontainers, but no container of ${image} starts: ${error.message}`, {
      cause: error,
    })
  }
}
