import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../../../scripts/redis/run.mjs'
import {
  cachedFolder,
  fetched,
  fingerprint,
  MAVEN_IS_AWAY,
  NotAvailable,
  requireProgram,
} from '../../../scripts/support/cache.mjs'

const SOURCES = fileURLToPath(new URL('../java/', import.meta.url))
const OLDEST_JDK = 17

/**
 * The driver in Java with one version of Redisson, built into a folder of the cache that has the hash of its sources.
 *
 * @param {string} version
 * @returns {Promise<string>} the class path
 * @throws {NotAvailable} there is no JDK or Maven, or Maven cannot fetch that version
 * @throws {Error} it does not compile
 */
export const builtDriver = async (version) => {
  await requireJdk()
  await requireProgram('Maven', 'mvn', ['-version'])
  const found = await readdir(join(SOURCES, 'src'), { recursive: true, withFileTypes: true })
  const files = found
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath ?? each.path, each.name))
  const texts = await Promise.all([join(SOURCES, 'pom.xml'), ...files.sort()].map((file) => readFile(file)))
  const folder = await cachedFolder(`interop/redisson-${version}-${fingerprint(...texts)}`, ({ part }) =>
    fetched(
      `Redisson ${version} of Maven`,
      'mvn',
      ['-q', '-B', '-f', SOURCES, 'package', `-Dredisson.version=${version}`, `-Dinterop.out=${part}`],
      { whenAway: MAVEN_IS_AWAY },
    ),
  )
  return `${join(folder, 'classes')}:${join(folder, 'lib')}/*`
}

const requireJdk = async () => {
  const said = await run('javac', ['-version'], { limitMs: 10_000 }).catch(() => '')
  const version = Number(/javac (\d+)/.exec(said)?.[1])
  if (!(version >= OLDEST_JDK)) throw new NotAvailable(`no JDK ${OLDEST_JDK} or newer on the PATH`)
}
