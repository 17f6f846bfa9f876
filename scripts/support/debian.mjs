import { run, works } from '../redis/run.mjs'
import { attempts } from './attempts.mjs'

/** Options of apt-get: how long it waits for one request, and how often it repeats it. */
export const PATIENCE_OF_APT = ['Retries=2', 'http::Timeout=20', 'https::Timeout=20'].flatMap((each) => [
  '-o',
  `Acquire::${each}`,
])

/** Whether packages of Debian can be installed here without a question. */
export const canInstallFromDebian = async () =>
  process.getuid?.() === 0 && (await works('apt-get', ['--version']))

/** @param {string[]} packages */
export const installFromDebian = async (packages) => {
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (args, limitMs) => run('apt-get', [...PATIENCE_OF_APT, ...args], { env, limitMs })
  const install = ['install', '-y', '--no-install-recommends', ...packages]
  await attempts((limitMs) => apt(['update'], limitMs))
  await attempts((limitMs) => apt([...install, '--download-only'], limitMs))
  // Without a limit: all of it is here, and after a killed dpkg a system installs nothing any more.
  await apt(install)
}
