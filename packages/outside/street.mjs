// Holdfast inside what its users run: hosts in folders of their own, with pinned versions, installed when they are asked for.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RedisServer } from '@holdfast/faults/harness'
import { requireKnown } from '../../scripts/command-line.mjs'
import { withServerProgram } from '../../scripts/redis/server-program.mjs'
import { runCommand } from '../../scripts/run-command.mjs'
import { cachedFolder, fetched, fingerprint, NotAvailable } from '../../scripts/support/cache.mjs'

const HERE = join(import.meta.dirname, 'street')
const ROOT = join(import.meta.dirname, '../..')
const NAMES = await readdir(HERE)
const VERSIONS = ['newest', 'oldest']
const USAGE = `Usage: npm run test:street -- [--only ${NAMES.join('|')}] [--version newest|oldest] [--short]

  --only      one of the hosts; may be given again
  --version   of the host's packages; default: both
  --short     in seconds
  --help

A host that cannot be fetched is skipped, with the reason. Exit code: 0 all is right; 1 something is not; 2 wrong arguments.`

/** The parts of the pages that run: by heading, the blocks of code and the rows of its tables. */
const PAGES = [
  'docs/services.md',
  'docs/queues.md',
  'docs/schedule.md',
  'docs/contexts.md',
  'packages/bullmq/README.md',
]
const sectionsOf = (page) =>
  page.split(/^#+ /m).map((text) => {
    const blocks = [...text.matchAll(/^```.*\n([^]*?)^```$/gm)].map(([, code]) => code)
    const rows = [...text.matchAll(/^\|(?! -)(.+)\|$/gm)].map(([, row]) =>
      row.split(/ \| /).map((cell) => cell.trim()),
    )
    return [text.slice(0, text.indexOf('\n')), { blocks, rows: rows.slice(1) }]
  })
const readRecipes = async (file) => [
  file,
  Object.fromEntries(sectionsOf(await readFile(join(ROOT, file), 'utf8'))),
]
const RECIPES = JSON.stringify(Object.fromEntries(await Promise.all(PAGES.map(readRecipes))))

const installed = async (host, version) => {
  const { oldest, ...given } = JSON.parse(await readFile(join(HERE, host, 'package.json'), 'utf8'))
  // Nobody says how old it may be.
  if (version === 'oldest' && !oldest) return null
  const text = JSON.stringify({
    ...given,
    dependencies: { ...given.dependencies, ...(version === 'oldest' && oldest) },
  })
  const folder = await cachedFolder(`street/${host}-${version}-${fingerprint(text)}`, async ({ part }) => {
    await writeFile(join(part, 'package.json'), text)
    await fetched(`the packages of ${host}`, 'npm', ['install', '--no-audit', '--no-fund'], { cwd: part })
  })
  // Copies: a link would find the packages of this repository, and not those of the host.
  for (const name of ['core', 'waiter', 'watchdog', 'bullmq', 'nestjs']) {
    const at = join(folder, 'node_modules/@holdfast', name)
    await rm(at, { recursive: true, force: true })
    await mkdir(at, { recursive: true })
    for (const each of ['package.json', 'dist'])
      await cp(join(ROOT, 'packages', name, each), join(at, each), { recursive: true })
  }
  await cp(join(HERE, host, 'main.mjs'), join(folder, 'main.mjs'))
  await writeFile(join(folder, 'recipes.json'), RECIPES)
  return folder
}

const runAll = async ({ only, version: versions, short }) => {
  requireKnown('only', only, NAMES)
  requireKnown('version', versions, VERSIONS)
  const server = await RedisServer.start()
  let held = true
  try {
    for (const host of only) {
      for (const version of versions) {
        let cwd
        try {
          cwd = await installed(host, version)
        } catch (error) {
          if (!(error instanceof NotAvailable)) throw error
          console.log(`${host}, ${version}: skipped, ${error.message}`)
          continue
        }
        if (!cwd) continue
        console.log(`${host}, ${version}`)
        const env = { ...process.env, REDIS_URL: server.url, STREET_VERSION: version }
        const child = spawn(process.execPath, ['main.mjs', ...(short ? ['--short'] : [])], {
          cwd,
          env,
          stdio: 'inherit',
        })
        const [code] = await once(child, 'exit')
        held &&= code === 0
      }
    }
    return held
  } finally {
    await server.stop()
  }
}

const several = (all) => ({ type: 'string', multiple: true, default: all })
await runCommand({
  USAGE,
  options: { only: several(NAMES), version: several(VERSIONS), short: { type: 'boolean', default: false } },
  run: (wanted) => withServerProgram(() => runAll(wanted)),
})
process.exit()
