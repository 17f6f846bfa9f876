import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * @typedef {object} PublishedPackage
 * @property {string} name
 * @property {string} folder absolute, without a slash at its end
 * @property {Record<string, any>} manifest its package.json
 */

/**
 * The workspace packages that go to the registry: all that are not private.
 *
 * @param {string} [root]
 * @returns {PublishedPackage[]}
 */
export const publishedPackages = (root = ROOT) =>
  readdirSync(join(root, 'packages'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => {
      const folder = join(root, 'packages', entry.name)
      const manifest = manifestIn(folder)
      return manifest === undefined || manifest.private === true
        ? []
        : [{ name: manifest.name, folder, manifest }]
    })

/**
 * @typedef {object} Entry
 * @property {string} name what a user imports, as in `@holdfast/core/decorators`
 * @property {string} file its name in dist without an extension, as in `decorators`
 * @property {string} module its path below src and build without an extension, as in `entries/decorators/index`
 */

/**
 * The entries of a package, its main entry first.
 *
 * @param {PublishedPackage} published
 * @returns {Entry[]}
 */
export const entriesOf = ({ name, folder, manifest }) => {
  const room = existsSync(`${folder}/src/entries`) ? 'entries/' : ''
  return Object.keys(manifest.exports)
    .filter((subpath) => !subpath.endsWith('.json'))
    .map((subpath) =>
      subpath === '.'
        ? { name, file: 'index', module: 'index' }
        : {
            name: name + subpath.slice(1),
            file: subpath.slice(2),
            module: `${room}${subpath.slice(2)}/index`,
          },
    )
}

const manifestIn = (folder) => {
  try {
    return JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  } catch (error) {
    // A folder that only holds what was built of a package of another branch is no package.
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}
