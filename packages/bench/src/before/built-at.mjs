import { rename, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../../../../scripts/redis/run.mjs'
import { cachedFolder, fetched } from '../../../../scripts/support/cache.mjs'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const LIMIT_MS = 600_000

/**
 * A built checkout of a commit of this repository, in the cache.
 *
 * @param {string} revision
 * @throws {NotAvailable} the repository has no such commit, or npm cannot install what it needs
 */
export const builtAt = async (revision) => {
  const git = (...args) => fetched(`the commit ${revision}`, 'git', ['-C', ROOT, ...args])
  const commit = (await git('rev-parse', '--short=7', `${revision}^0`)).trim()
  const folder = await cachedFolder(`bench/${commit}`, async ({ part, download }) => {
    const clone = join(download, 'clone')
    await git('clone', '--quiet', '--no-checkout', ROOT, clone)
    await fetched(`the commit ${revision}`, 'git', ['-C', clone, 'checkout', '--quiet', commit])
    for (const each of await readdir(clone)) await rename(join(clone, each), join(part, each))
    const install = ['ci', '--no-audit', '--no-fund', '--ignore-scripts']
    await fetched(`what ${commit} needs`, 'npm', install, { cwd: part, limitMs: LIMIT_MS })
    await run(process.execPath, ['scripts/build.mjs'], { cwd: part, limitMs: LIMIT_MS })
  })
  return { commit, folder }
}
