import { findRedisBinary, RedisServer } from '@holdfast/faults/harness'

/**
 * A private server of the redis-server or valkey-server that is on the PATH.
 *
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis | undefined>}
 */
export const fromPath = async () => {
  const program = await serverOnPath()
  return program && launch(program, `${program} from the PATH`)
}

/**
 * A private server of the program that HOLDFAST_REDIS_SERVER names.
 *
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis | undefined>} undefined where it names none
 */
export const fromNamedProgram = async () => {
  const program = await namedProgram()
  return program && launch(program, program)
}

/** @returns {Promise<string | undefined>} the program that HOLDFAST_REDIS_SERVER names @throws when it does not run */
const namedProgram = async () => {
  const program = process.env.HOLDFAST_REDIS_SERVER
  if (!program) return undefined
  if (await runs(program)) return program
  throw new Error(`HOLDFAST_REDIS_SERVER names '${program}', which does not run`)
}

/** @returns {Promise<string | undefined>} what starts servers: the program of HOLDFAST_REDIS_SERVER, or one of the PATH */
export const serverProgram = async () => (await namedProgram()) ?? (await serverOnPath())

/** @returns {Promise<string | undefined>} `redis-server` or `valkey-server` */
const serverOnPath = async () => {
  for (const program of ['redis-server', 'valkey-server']) {
    if (await runs(program)) return program
  }
  return undefined
}

const runs = (program) =>
  findRedisBinary(program).then(
    () => true,
    () => false,
  )

/** @param {string} binary @param {string} how where it comes from, for people */
const launch = async (binary, how) => {
  const server = await RedisServer.start({ binary })
  return { url: server.url, how: `${how}, port ${server.port}`, stop: () => server.stop() }
}
