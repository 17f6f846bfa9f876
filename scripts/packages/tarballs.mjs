import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { command } from './command.mjs'
import { filesBelow } from './files-below.mjs'
import { publishedPackages } from './published-packages.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Where the repository is, until its owner says so: `repository` of the root's package.json. */
export const NO_ADDRESS = 'https://github.com/OWNER/holdfast'

/** @returns {string} the address of the repository, without a slash at its end */
export const repositoryAddress = () => {
  const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return repository?.url.replaceAll(/^git\+|\.git$/g, '') ?? NO_ADDRESS
}

/**
 * @typedef {object} Tarball
 * @property {string} name
 * @property {string} version
 * @property {string} file
 * @property {string[]} contents paths inside the package
 * @property {number} size of the file, in bytes
 * @property {number} unpackedSize
 */

/**
 * Packs every published package: what `npm publish` takes.
 *
 * @param {string} folder
 * @param {AbortSignal} signal
 * @param {string} [root] where the manifests are, with the versions
 * @returns {Promise<Tarball[]>}
 */
export const packAll = async (folder, signal, root = ROOT) => {
  const staged = publishedPackages(root).map((each) => stage(each, join(folder, 'staged')))
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, ...staged]
  const stdout = await command('npm', args, { cwd: folder, signal })
  return Object.values(JSON.parse(stdout)).map(({ name, version, filename, files, size, unpackedSize }) => ({
    ...{ name, version, file: join(folder, filename), size, unpackedSize },
    contents: files.map(({ path }) => path),
  }))
}

/** A published package as it is packed: its manifest says where it comes from, its texts link to there. */
const stage = ({ folder, manifest }, staging) => {
  const directory = `packages/${basename(folder)}`
  const source = join(ROOT, directory)
  const target = join(staging, basename(folder))
  const address = repositoryAddress()
  mkdirSync(target, { recursive: true })
  cpSync(join(ROOT, 'LICENSE'), join(target, 'LICENSE'))
  for (const each of manifest.files) cpSync(join(source, each), join(target, each), { recursive: true })
  const origin = {
    homepage: `${address}/tree/main/${directory}#readme`,
    bugs: `${address}/issues`,
    repository: { type: 'git', url: `git+${address}.git`, directory },
  }
  writeFileSync(
    join(target, 'package.json'),
    `${JSON.stringify({ ...manifest, devDependencies: undefined, ...origin }, null, 2)}\n`,
  )
  for (const file of ['README.md', ...filesBelow(join(source, 'skills')).map((each) => `skills/${each}`)]) {
    const text = readFileSync(join(source, file), 'utf8')
    const leadsTo = (_, path) => {
      const place = relative(ROOT, join(source, dirname(file), path))
        .split(sep)
        .join('/')
      return `](${address}/blob/v${manifest.version}/${place}`
    }
    writeFileSync(join(target, file), text.replaceAll(/\]\((\.\.?\/[^)#\s]+)/g, leadsTo))
  }
  return target
}
