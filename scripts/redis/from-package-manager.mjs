import { existsSync } from 'node:fs'
import { fromPath } from './from-path.mjs'
import { ping } from './ping.mjs'
import { run, works } from './run.mjs'
import { canInstallFromDebian, installFromDebian } from '../support/debian.mjs'

const USUAL_URL = 'redis://127.0.0.1:6379'

/**
 * Installs a Redis with the system's package manager, where that needs no question, and starts a private server
 * of it. The package stays installed.
 *
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis | undefined>}
 */
export const fromPackageManager = async ({ log }) => {
  if (!(await installWithPackageManager({ log }))) return undefined
  const redis = await fromPath()
  return redis && { ...redis, how: `${redis.how}, just installed` }
}

/**
 * Installs redis-server where that needs no question.
 *
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<boolean>} whether there was a way
 */
export const installWithPackageManager = async ({ log }) => {
  if (await canInstallFromDebian()) await installWithApt(log)
  else if (await works('brew', ['--version'])) await installWithBrew(log)
  else return false
  return true
}

const installWithApt = async (log) => {
  log('installing the package redis-server with apt-get')
  const tookUsualPort = await isUp()
  await installFromDebian(['redis-server'])
  // Debian starts a service as soon as it is installed; nobody has asked for that one.
  if (!tookUsualPort && (await isUp())) {
    log('stopping the service redis-server that came with the package')
    if (existsSync('/run/systemd/system')) await run('systemctl', ['disable', '--now', 'redis-server'])
    else await run('service', ['redis-server', 'stop'])
  }
}

const installWithBrew = async (log) => {
  log('installing the package redis with brew')
  await run('brew', ['install', 'redis'])
}

const isUp = () =>
  ping(USUAL_URL, 1_000).then(
    () => true,
    () => false,
  )
