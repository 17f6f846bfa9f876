// Releases: makes versions of changesets, packs what is published, checks it as users get it, publishes it.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../command-line.mjs'
import { interruption } from '../interruption.mjs'
import { provideRedis } from '../redis/provide-redis.mjs'
import { runCommand } from '../run-command.mjs'
import { table } from '../table.mjs'
import { checkPackages } from './check-packages.mjs'
import { command } from './command.mjs'
import { publishedPackages } from './published-packages.mjs'
import { Report } from './report.mjs'
import { NO_ADDRESS, packAll, repositoryAddress } from './tarballs.mjs'
import { makeVersions, makeVersionsIn } from './versions.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const USAGE = `Usage: npm run release -- [options]

  Builds, packs and checks the packages, and publishes those that npm does not have in this version yet.

  --dry-run   publishes nothing; takes the versions that come next, and leaves the repository as it is
  --check     packs and checks only
  --versions  turns the changesets into versions and changelogs, and does nothing else
  --help

Exit code: 0 all is well, 1 otherwise, 2 the arguments are wrong.`

const signal = interruption()

const git = (...args) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout.trim()

/** Reasons that keep this commit from being released. */
const obstacles = () => {
  const { version } = publishedPackages()[0].manifest
  // On GitHub, for which the workflow runs.
  const tag = process.env.GITHUB_REF_TYPE === 'tag' ? process.env.GITHUB_REF_NAME : undefined
  const pending = readdirSync(join(ROOT, '.changeset')).filter((file) => file.endsWith('.md'))
  return [
    ...(repositoryAddress() === NO_ADDRESS ? ['package.json has no repository'] : []),
    ...pending.map((file) => `.changeset/${file}: npm run version, then commit`),
    ...(tag === undefined || tag === `v${version}`
      ? []
      : [`the tag ${tag} is not that of version ${version}`]),
    ...(git('status', '--porcelain') === '' ? [] : ['there are changes that are not committed']),
  ]
}

const sizes = (packed) => [
  ['', 'version', 'packed, bytes', 'unpacked', 'files'],
  ...packed.map(({ name, version, size, unpackedSize, contents }) =>
    [name, version, size, unpackedSize, contents.length].map(String),
  ),
]

/** Those that others need come first: nobody installs a package without its siblings. */
const FIRST = ['@holdfast/watchdog', '@holdfast/waiter', '@holdfast/core', '@holdfast/cli']

const publish = async (packed, { isDryRun, report, folder }) => {
  const rank = ({ name }) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length)
  for (const { name, version, file } of packed.toSorted((a, b) => rank(a) - rank(b))) {
    const there = await command('npm', ['view', `${name}@${version}`, 'version'], {
      cwd: folder,
      signal,
    }).then(
      (stdout) => stdout.trim() !== '',
      () => false,
    )
    if (there) console.log(`${name}@${version} is on npm`)
    // Where GitHub runs it, npm adds the provenance by itself, as it is asked for no token.
    const args = ['publish', file, '--access', 'public', ...(isDryRun ? ['--dry-run'] : [])]
    const published = () => command('npm', args, { cwd: folder, signal })
    if (!there && !(await report.check(`${name}@${version}: npm publish`, published))) return
  }
}

const release = async ({ check: isCheck, 'dry-run': isDryRun }) => {
  const faults = isCheck || isDryRun ? [] : obstacles()
  if (faults.length > 0) throw new UsageError(faults.join('\n'))
  const report = new Report(signal)
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-packages-')))
  let redis
  try {
    let packed = []
    const isPacked = await report.check('build and npm pack', async () => {
      await command(process.execPath, ['scripts/build.mjs'], { cwd: ROOT, signal })
      const versions = isDryRun ? join(folder, 'versions') : ROOT
      if (isDryRun) await makeVersionsIn(versions, signal)
      await mkdir(join(folder, 'tarballs'))
      packed = await packAll(join(folder, 'tarballs'), signal, versions)
    })
    if (isPacked) {
      redis = await provideRedis({ log: (line) => console.error(`redis: ${line}`) })
      signal.throwIfAborted()
      await checkPackages(packed, { folder, redisUrl: redis.url, report, signal })
    }
    console.log(`\n${table(sizes(packed)).join('\n')}\n`)
    if (!isCheck && report.failed === 0) await publish(packed, { isDryRun, report, folder })
  } finally {
    await redis?.stop()
    await rm(folder, { recursive: true, force: true })
  }
  console.log(`\n${report.summary()}`)
  return report.failed === 0
}

const flag = { type: 'boolean', default: false }
await runCommand({
  USAGE,
  options: { 'dry-run': flag, check: flag, versions: flag },
  run: (values) => (values.versions ? makeVersions(ROOT, signal) : release(values)),
})
// Without an exit, a connection that is left could hold the process.
process.exit()
