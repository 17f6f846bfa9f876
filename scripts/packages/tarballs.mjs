import { join } from 'node:path'
import { command } from './command.mjs'
import { publishedPackages } from './published-packages.mjs'

/**
 * @typedef {object} Tarball
 * @property {string} name
 * @property {string} file
 * @property {string[]} contents paths inside the package
 * @property {number} size of the file, in bytes
 * @property {number} unpackedSize
 */

/**
 * Packs every published package as `npm publish` would.
 *
 * @param {string} root
 * @param {string} folder
 * @param {AbortSignal} signal
 * @returns {Promise<Tarball[]>}
 */
export const packAll = async (root, folder, signal) => {
  const workspaces = publishedPackages().flatMap(({ name }) => ['--workspace', name])
  const args = ['pack', '--json', '--pack-destination', folder, ...workspaces]
  const { stdout } = await command('npm', args, { cwd: root, signal })
  return Object.values(JSON.parse(stdout)).map(({ name, filename, files, size, unpackedSize }) => ({
    name,
    file: join(folder, filename),
    contents: files.map(({ path }) => path),
    size,
    unpackedSize,
  }))
}
