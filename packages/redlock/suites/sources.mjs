import { readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../../../scripts/redis/run.mjs'
import { cachedFolder, fetched, fingerprint } from '../../../scripts/support/cache.mjs'

const TOOLS = { ava: '6.4.1', chai: '4.5.0', mocha: '11.7.5', vitest: '3.2.7' }

/**
 * The programs that run the suites, in a folder of the cache.
 *
 * @throws {NotAvailable}
 */
export const makeTools = async () => {
  const text = JSON.stringify({ private: true, dependencies: TOOLS })
  return cachedFolder(`suites/tools-${fingerprint(text)}`, async ({ part }) => {
    await writeFile(join(part, 'package.json'), text)
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund']
    await fetched('the test runners of npm', 'npm', args, { cwd: part })
  })
}

/**
 * The suite with its tests, in a folder of the cache.
 *
 * @param {import('./catalog.mjs').Suite} suite
 * @param {string} [clone] where its repository is, if not on GitHub
 * @throws {NotAvailable}
 */
export const sourceOf = ({ npm, git, commit }, clone) =>
  npm === undefined
    ? cachedFolder(`suites/${commit}`, async ({ part, download }) => {
        const into = join(download, 'clone')
        const from = clone ?? git
        // A proxy that asks for a password must not make it wait for one.
        const env = { GIT_TERMINAL_PROMPT: '0' }
        await fetched(from, 'git', ['clone', '--quiet', '--no-checkout', from, into], { cwd: download, env })
        await fetched(from, 'git', ['checkout', '--quiet', commit], { cwd: into })
        for (const each of await readdir(into)) await rename(join(into, each), join(part, each))
      })
    : cachedFolder(`suites/${npm}`, async ({ part, download }) => {
        await fetched(npm, 'npm', ['pack', '--loglevel=error', npm], { cwd: download })
        const [tarball] = await readdir(download)
        await run('tar', ['-xzf', join(download, tarball), '-C', part, '--strip-components', '1'])
      })
