import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PACKAGES = fileURLToPath(new URL('../../packages/', import.meta.url))

/**
 * @typedef {object} PublishedPackage
 * @property {string} name
 * @property {string} folder absolute, without a slash at its end
 * @property {Record<string, any>} manifest its package.json
 */

/**
 * The workspace packages that go to the registry: all that are not private.
 *
 * @returns {PublishedPackage[]}
 */
export const publishedPackages = () =>
  readdirSync(PACKAGES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const manifest = manifestIn(`${PACKAGES}${name}`)
      return manifest === undefined || manifest.private === true
        ? []
        : [{ name: manifest.name, folder: `${PACKAGES}${name}`, manifest }]
    })

/**
 * @typedef {object} Entry
 * @property {string} name what a user imports, as in `@holdfast/core/decorators`
 * @property {string} module its path below src and dist/esm without an extension, as in `decorators/index`
 */

/**
 * What can be imported of a package, its main entry first.
 *
 * @param {PublishedPackage} published
 * @returns {Entry[]}
 */
export const entriesOf = ({ name, manifest }) =>
  Object.entries(manifest.exports)
    .filter(([, conditions]) => typeof conditions === 'object')
    .map(
      ([
        subpath,
        {
          import: { default: file },
        },
      ]) => ({
        name: name + subpath.slice(1),
        module: file.replace(/^\.\/dist\/esm\//, '').replace(/\.js$/, ''),
      }),
    )

const manifestIn = (folder) => {
  try {
    return JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  } catch (error) {
    // A folder that only holds the dist/ of a package of another branch is no package.
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}
