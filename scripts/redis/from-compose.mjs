import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ping } from './ping.mjs'
import { run, works } from './run.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FILE = join(ROOT, 'docker-compose.yml')
const SERVICE = 'redis'
const REDIS_PORT = '6379'

/** @param {string[]} args */
const compose = (...args) => run('docker', ['compose', '--file', FILE, ...args])

/**
 * The service `redis` of docker-compose.yml, where Docker works. One that ran before is used and left running.
 *
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis | undefined>}
 */
export const fromCompose = async ({ log }) => {
  if (
    !existsSync(FILE) ||
    !(await works('docker', ['info'])) ||
    !(await works('docker', ['compose', 'version']))
  ) {
    return undefined
  }
  const ranBefore = (await compose('ps', '--quiet', '--status', 'running', SERVICE)).trim() !== ''
  log(`starting the service ${SERVICE} of docker-compose.yml`)
  const stop = async () => {
    if (!ranBefore) await compose('rm', '--stop', '--force', '--volumes', SERVICE)
  }
  try {
    await compose('up', '--detach', '--wait', SERVICE)
    const published = (await compose('port', SERVICE, REDIS_PORT)).trim()
    const url = `redis://127.0.0.1:${published.slice(published.lastIndexOf(':') + 1)}`
    await ping(url)
    return { url, how: `docker compose, service ${SERVICE}`, stop }
  } catch (error) {
    await stop().catch(() => undefined)
    throw error
  }
}
