import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cachedFolder, fetched, fingerprint, orReason } from '../../../scripts/support/cache.mjs'

/**
 * Pinned packages in a folder of the cache, outside of this repository.
 *
 * @param {string} name @param {Record<string, string>} dependencies
 * @returns {Promise<{ folder: string, load: (name: string) => Promise<any> } | { reason: string }>}
 */
export const packagesOf = (name, dependencies) =>
  orReason(async () => {
    const text = JSON.stringify({ private: true, type: 'module', dependencies })
    const folder = await cachedFolder(`behaviour/${name}-${fingerprint(text)}`, async ({ part }) => {
      await writeFile(join(part, 'package.json'), text)
      await fetched(`the packages of ${name}`, 'npm', ['install', '--no-audit', '--no-fund'], { cwd: part })
    })
    const require = createRequire(join(folder, 'package.json'))
    return { folder, load: async (each) => import(pathToFileURL(require.resolve(each)).href) }
  })
