// Packs what would be published, installs it into empty projects of every kind a user may have, and runs it there.
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as check from './check-contents.mjs'
import { checkReadme } from './check-readme.mjs'
import { lintManifest, lintTypes } from './check-lint.mjs'
import * as projects from './check-projects.mjs'
import { command } from './command.mjs'
import { Report } from './report.mjs'
import { entriesOf, publishedPackages } from './published-packages.mjs'
import { packAll } from './tarballs.mjs'
import { LIMITS } from './weight.mjs'
import { provideRedis } from '../redis/provide-redis.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }

// Packages for a framework are installed where it is.
const PROJECT_OF = {
  '@holdfast/nestjs': 'nest-12',
  '@holdfast/bullmq': 'bullmq-6',
  '@holdfast/otel': 'otel',
}

// It brings ioredis along, which most projects are without, or have in a version of their own.
const WITH_A_CLIENT = '@holdfast/cli'

// Modules that a service loads.
const ENGINE_IS_NOT_IN = ['@holdfast/core', '@holdfast/waiter', '@holdfast/watchdog']
const SOURCES = {
  engine: join(ROOT, 'packages/testing/src'),
  own: ['core', 'waiter', 'watchdog'].map((each) => join(ROOT, `packages/${each}/src`)),
}

const interrupt = new AbortController()
let exitCode = 1
for (const [signal, number] of Object.entries(SIGNAL_NUMBERS)) {
  process.on(signal, () => {
    exitCode = 128 + number
    // Ends the command that runs; the rest of this file then cleans up.
    interrupt.abort(new Error(`interrupted by ${signal}`))
  })
}

const readManifest = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** One that the URL does not choose by itself. */
const databaseOf = (redisUrl, number) => {
  const url = new URL(redisUrl)
  if (url.pathname.length <= 1) url.pathname = `/${number}`
  return url.href
}

const checkAll = async (folder, redisUrl, report) => {
  const { signal } = interrupt
  let packed = []
  const isPacked = await report.check('build and npm pack', async () => {
    await command(process.execPath, ['scripts/build.mjs'], { cwd: ROOT, signal })
    await mkdir(join(folder, 'tarballs'))
    packed = await packAll(ROOT, join(folder, 'tarballs'), signal)
  })
  if (!isPacked) return
  for (const tarball of packed) {
    const { name, file } = tarball
    const entries = entriesOf(publishedPackages().find((each) => each.name === name))
    await report.check(`${name}: what the tarball holds`, () => check.checkFileList(tarball, entries))
    await report.check(`${name}: what it weighs`, () => check.checkSize(tarball, LIMITS[name]))
    await report.check(`${name}: publint, strict`, () => lintManifest(file))
    await report.check(`${name}: attw, strict`, () => lintTypes(file, signal))
  }
  const files = packed
    .filter(({ name }) => !(name in PROJECT_OF) && name !== WITH_A_CLIENT)
    .map(({ file }) => file)
  const forFramework = (wanted) => packed.find(({ name }) => name === wanted).file
  const setting = { folder, tarballs: files, forFramework, redisUrl, signal, report }
  // Most of the time npm installs: two at a time, each with a database of its own.
  const waiting = Object.values(projects)
  const lane = async (number) => {
    const own = { ...setting, redisUrl: databaseOf(redisUrl, number) }
    for (let checkProject = waiting.shift(); checkProject; checkProject = waiting.shift()) {
      await checkProject(own)
    }
  }
  await Promise.all([lane(0), lane(1)])
  for (const { name, contents } of packed) {
    const installed = join(folder, PROJECT_OF[name] ?? 'esm', 'node_modules', name)
    await report.check(`${name}: package.json`, () =>
      check.checkManifest(readManifest(installed), readManifest(ROOT)),
    )
    await report.check(`${name}: a README that stands alone`, () =>
      checkReadme(installed, readManifest(installed)),
    )
    await report.check(`${name}: imports what it declares, and only that`, () =>
      check.checkImports(installed, readManifest(installed), contents),
    )
    await report.check(`${name}: an entry is one file or two, in no circle`, () =>
      check.checkLoaded(installed, readManifest(installed), contents),
    )
    await report.check(`${name}: declares no protected member`, () =>
      check.checkProtected(installed, contents),
    )
    await report.check(`${name}: its classes keep their names`, () =>
      check.checkClassNames(installed, contents),
    )
    if (ENGINE_IS_NOT_IN.includes(name)) {
      await report.check(`${name}: nothing of the engine for tests`, () =>
        check.checkNoEngine(installed, contents, SOURCES),
      )
    }
  }
}

const main = async () => {
  const report = new Report(interrupt.signal)
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-packages-')))
  let redis
  try {
    redis = await provideRedis({ log: (line) => console.error(`redis: ${line}`) })
    interrupt.signal.throwIfAborted()
    await checkAll(folder, redis.url, report)
  } finally {
    await redis?.stop()
    await rm(folder, { recursive: true, force: true })
  }
  console.log(`\n${report.summary()}`)
  return report.failed === 0 ? 0 : 1
}

try {
  exitCode = await main()
} catch (error) {
  console.error(error.message)
}
// Without an exit, a connection that testcontainers keeps could hold the process.
process.exit(exitCode)
