import { whenWeAreGone } from '@holdfast/faults/harness'
import { ping } from './ping.mjs'

const DEFAULT_IMAGE = 'redis:7-alpine'
const REDIS_PORT = 6379

/** The image that HOLDFAST_REDIS_IMAGE names, or the usual one. */
export const redisImage = () => process.env.HOLDFAST_REDIS_IMAGE || DEFAULT_IMAGE

/**
 * A container through the package testcontainers, when HOLDFAST_REDIS=testcontainers asks for it. `stop` removes
 * it. What testcontainers has for a process that is killed is a container of its own, Ryuk; where that is turned
 * off (TESTCONTAINERS_RYUK_DISABLED=true, as where its image cannot be pulled) a guardian does the same.
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
  const image = redisImage()
  log(`starting a container of ${image}`)
  const container = await start(image)
  const callOff = withoutRyuk()
    ? whenWeAreGone('exec docker rm -f -v "$1"', [container.getId()])
    : () => undefined
  const stop = async () => {
    await container.stop()
    callOff()
  }
  const url = `redis://${container.getHost()}:${container.getMappedPort(REDIS_PORT)}`
  try {
    await ping(url)
  } catch (error) {
    await stop().catch(() => undefined)
    throw error
  }
  return { url, how: `testcontainers, ${image}`, stop }
}

const withoutRyuk = () => process.env.TESTCONTAINERS_RYUK_DISABLED === 'true'

const start = async (image) => {
  // Loaded here only: it is large, and of no use to whoever has a Redis at hand.
  const { GenericContainer, Wait } = await import('testcontainers')
  try {
    return await new GenericContainer(image)
      .withExposedPorts(REDIS_PORT)
      .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
      .start()
  } catch (error) {
    const lines = [`HOLDFAST_REDIS=testcontainers, but no container of ${image} starts: ${error.message}`]
    if (!withoutRyuk()) {
      lines.push(
        'HOLDFAST_REDIS_IMAGE names another image; TESTCONTAINERS_RYUK_DISABLED=true does without the one for cleaning up.',
      )
    }
    throw new Error(lines.join('\n'), { cause: error })
  }
}
