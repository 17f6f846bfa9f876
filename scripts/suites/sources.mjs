import { createHash } from 'node:crypto'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../redis/run.mjs'
import { cacheFolder, exists, makeFolder, NotAvailable } from '../support/cache.mjs'

export { NotAvailable }

const LIMIT_MS = 180_000
const TOOLS = { ava: '6.4.1', chai: '4.5.0', mocha: '11.7.5', vitest: '3.2.7' }

const folderNamed = async (name, make) => {
  const parent = join(cacheFolder(), 'suites')
  await mkdir(parent, { recursive: true })
  const folder = join(parent, name)
  if (!(await exists(folder))) await makeFolder(folder, make)
  return folder
}

/** What a registry does not give is told with the line in which its client says why. */
const fetched = async (what, program, args, cwd) => {
  try {
    return await run(program, args, { limitMs: LIMIT_MS, cwd })
  } catch (error) {
    const lines = error.message.split('\n').map((line) => line.trim())
    const why = lines.findLast((line) => /^(fatal|npm error)/.test(line)) ?? lines.at(-1)
    throw new NotAvailable(`${what}: ${why}`, { cause: error })
  }
}

/**
 * The programs that run the suites, in a folder of the cache.
 *
 * @throws {NotAvailable}
 */
export const makeTools = async () => {
  const text = JSON.stringify({ private: true, dependencies: TOOLS })
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return folderNamed(`tools-${hash}`, async ({ part }) => {
    await writeFile(join(part, 'package.json'), text)
    await fetched(
      'the test runners of npm',
      'npm',
      ['install', '--ignore-scripts', '--no-audit', '--no-fund'],
      part,
    )
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
    ? folderNamed(commit, async ({ part, download }) => {
        const into = join(download, 'clone')
        const from = clone ?? git
        await fetched(from, 'git', ['clone', '--quiet', '--no-checkout', from, into], download)
        await fetched(from, 'git', ['checkout', '--quiet', commit], into)
        for (const each of await readdir(into)) await rename(join(into, each), join(part, each))
      })
    : folderNamed(npm, async ({ part, download }) => {
        await fetched(npm, 'npm', ['pack', '--silent', npm], download)
        const [tarball] = await readdir(download)
        await run('tar', ['-xzf', join(download, tarball), '-C', part, '--strip-components', '1'])
      })
