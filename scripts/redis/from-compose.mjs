import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { whenWeAreGone } from '@holdfast/faults/harness'
import { ping } from './ping.mjs'
import { run, works } from './run.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FILE = join(ROOT, 'docker-compose.yml')
const SERVICE = 'redis'
const REDIS_PORT = '6379'
const DOWN = ['down', '--volumes', '--timeout', '1']

/**
 * The service `redis` of docker-compose.yml, where Docker works. One that runs already is used and left running.
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
  return (await runningService()) ?? (await ownService(log))
}

/** @param {string[]} project options that name a project; none for the folder's */
const composeOf = (project) => {
  const all = (args) => ['compose', '--file', FILE, ...project, ...args]
  return {
    all,
    compose: (...args) => run('docker', all(args)),
  }
}

const runningService = async () => {
  const { compose } = composeOf([])
  if ((await compose('ps', '--quiet', '--status', 'running', SERVICE)).trim() === '') return undefined
  const url = await urlOf(compose)
  return { url, how: `docker compose, service ${SERVICE} that was running`, stop: async () => undefined }
}

/** In a project of its own: another run beside this one must neither find it nor stop it. */
const ownService = async (log) => {
  const { all, compose } = composeOf(['--project-name', `holdfast-${randomBytes(4).toString('hex')}`])
  log(`starting the service ${SERVICE} of docker-compose.yml`)
  const callOff = whenWeAreGone('exec docker "$@"', all(DOWN))
  const stop = async () => {
    await compose(...DOWN)
    callOff()
  }
  try {
    await compose('up', '--detach', '--wait', SERVICE)
    return { url: await urlOf(compose), how: `docker compose, service ${SERVICE}`, stop }
  } catch (error) {
    await stop().catch(() => undefined)
    throw error
  }
}

const urlOf = async (compose) => {
  const published = (await compose('port', SERVICE, REDIS_PORT)).trim()
  const url = `redis://127.0.0.1:${published.slice(published.lastIndexOf(':') + 1)}`
  await ping(url)
  return url
}
