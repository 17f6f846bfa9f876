// The guard of @holdfast/fence with every library that it has an entry for, on PostgreSQL, MariaDB and SQLite.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { FENCE_TABLE } from '@holdfast/fence'
import { startDatabases } from './databases.mjs'
import { requireKnown } from '../../../scripts/command-line.mjs'
import { interruption } from '../../../scripts/interruption.mjs'
import { command } from '../../../scripts/packages/command.mjs'
import { packAll } from '../../../scripts/packages/tarballs.mjs'
import { provideRedis } from '../../../scripts/redis/provide-redis.mjs'
import { run } from '../../../scripts/redis/run.mjs'
import { runCommand } from '../../../scripts/run-command.mjs'
import { RUNTIMES } from '../../../scripts/runtimes/catalog.mjs'
import { runtimeProgram } from '../../../scripts/runtimes/runtime-program.mjs'
import { attempts } from '../../../scripts/support/attempts.mjs'
import { cachedFolder, exists, fetched, fingerprint, NotAvailable } from '../../../scripts/support/cache.mjs'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const USAGE = `Usage: npm run test:fence -- [--versions newest|oldest|compiled] [--only <library>] [--smoke]
       npm run test:fence -- --pauses <holders>
       npm run test:fence -- --cost <ms>

  --versions  the newest and the oldest of each library's versions, or those whose packages have no binary: they are
              compiled for the Node that starts this; default: all
  --only      a library of packages/fence/databases/libraries.mjs, such as "kysely on pg"; may be given again
  --smoke     the newest versions, without Prisma, TypeORM and Knex
  --pauses    holders whose process stands still beyond the lease, so many for each database, with the guard and without
  --cost      a transaction with the fence and without it, in turns of so many ms
  --help

A database that cannot be had here is not run, and said. Exit code: 0 all tests passed; 1 otherwise; 2 the arguments are wrong.`

/** Versions that are run of each library: the newest, the oldest of its range of peers, and those to be compiled. */
const VERSIONS = {
  newest: {
    'better-sqlite3': '13.2.0',
    'drizzle-orm': '0.45.4',
    ioredis: '6.0.0',
    knex: '3.3.0',
    kysely: '0.29.9',
    mysql2: '3.24.6',
    pg: '8.23.1',
    postgres: '3.4.9',
    typeorm: '1.1.1',
  },
  oldest: {
    'better-sqlite3': '13.0.0',
    'drizzle-orm': '0.36.0',
    knex: '3.0.1',
    kysely: '0.27.0',
    mysql2: '3.9.0',
    pg: '8.11.0',
    postgres: '3.4.0',
    typeorm: '0.3.20',
  },
  compiled: { 'better-sqlite3': '12.0.0', 'drizzle-orm': '0.45.4', ioredis: '6.0.0', kysely: '0.29.9' },
}
const ON_COMPILED = ['better-sqlite3', 'drizzle', 'kysely on better-sqlite3']
const PRISMA = ['prisma', '@prisma/client', '@prisma/adapter-pg', '@prisma/adapter-mariadb']
for (const each of PRISMA) VERSIONS.newest[each] = '7.10.0'
for (const each of PRISMA) VERSIONS.oldest[each] = '7.0.0'
const SLOW = ['prisma', 'typeorm', 'knex']

const interrupted = interruption()
const log = (line) => console.error(line)

/** Its headers are there in most installations. */
const NODE = fileURLToPath(new URL('..', pathToFileURL(process.execPath)))

const schemaOf = (provider) => `generator client {
  provider = "prisma-client"
  output = "./prisma-${provider}"
  runtime = "nodejs"
  moduleFormat = "esm"
}
datasource db {
  provider = "${provider}"
}
model things {
  id    Int @id
  value Int
}
`

/** The libraries of one list of versions, in a folder of the cache. */
const librariesFolder = async (which, isSmall) => {
  const versions = VERSIONS[which]
  const isCompiled = which === 'compiled'
  if (isCompiled && !(await exists(join(NODE, 'include/node/node.h')))) {
    throw new NotAvailable(
      'better-sqlite3 12: its package has no binary, and there are no headers of this Node',
    )
  }
  const dependencies = Object.fromEntries(
    Object.entries(versions).filter(([name]) => !isSmall || !SLOW.some((slow) => name.includes(slow))),
  )
  const text = JSON.stringify({ private: true, type: 'module', dependencies })
  const schemas = isSmall || isCompiled ? [] : ['postgresql', 'mysql']
  const compiledFor = isCompiled ? [process.version] : []
  return cachedFolder(
    `fence/${fingerprint(text, ...schemas.map(schemaOf), ...compiledFor)}`,
    async ({ part }) => {
      await writeFile(join(part, 'package.json'), text)
      const args = ['install', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund']
      await fetched("npm's libraries for databases", 'npm', args, { cwd: part })
      if (isCompiled) {
        const build = ['rebuild', 'better-sqlite3', '--build-from-source', `--nodedir=${NODE}`]
        await run('npm', build, { cwd: part, limitMs: 600_000 })
      }
      for (const provider of schemas) {
        await writeFile(join(part, `${provider}.prisma`), schemaOf(provider))
        // It would fetch a program that migrates schemas, and does not need it to generate a client.
        const env = { PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', PRISMA_HIDE_UPDATE_MESSAGE: '1' }
        const generate = ['node_modules/prisma/build/index.js', 'generate', '--schema', `${provider}.prisma`]
        await run(process.execPath, generate, { cwd: part, env })
      }
    },
  )
}

/** A project with the packed packages beside the libraries. */
const projectIn = async (folder, libraries, packed) => {
  const wanted = packed.filter(({ name }) => /\/(core|watchdog|waiter|fence)$/.test(name))
  const args = ['install', '--no-save', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund']
  const files = ['--prefer-offline', ...wanted.map(({ file }) => file)]
  const setting = { cwd: folder, signal: interrupted }
  await attempts(async (limitMs) => {
    await rm(folder, { recursive: true, force: true })
    await cp(libraries, folder, { recursive: true })
    await command('npm', [...args, ...files], { ...setting, limitMs })
  }, setting)
  for (const file of ['libraries.mjs', 'open.mjs', 'suite.mjs', 'pauses.mjs', 'cost.mjs'])
    await cp(join(HERE, file), join(folder, file))
}

/** Runs a program of the project. @returns whether it succeeded */
const ran = async (program, folder, args, env = {}) => {
  const child = spawn(program, ['--disable-warning=HOLDFAST_FENCE_COUNTER', ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
    signal: interrupted,
  })
  const [code] = await once(child, 'exit')
  return code === 0
}

const runSuite = (program, folder, { urls, only }) => {
  const args = ['--test', '--test-reporter=dot', '--test-concurrency=1', 'suite.mjs']
  return ran(program, folder, args, {
    FENCE_DATABASES: JSON.stringify(urls),
    FENCE_ONLY: only.join(','),
  })
}

/** On each database that there is. */
const onEach = async (urls, run) => {
  let isGreen = true
  for (const name of ['postgres', 'mariadb', 'sqlite']) {
    if (urls[name] !== null) isGreen = (await run(name, urls[name])) && isGreen
  }
  return isGreen
}

const PAUSES = '| database | | late holders | refused | writes | after a later holder | lost updates |'
const COST = '| database | writers | transactions/s without | with the fence | ratio |'

const runPauses = async (program, folder, { urls, pauses }) => {
  const redis = await provideRedis({ log })
  console.log(`${PAUSES}\n| --- | --- | ---: | ---: | ---: | ---: | ---: |`)
  try {
    return await onEach(urls, (name, url) =>
      ran(program, folder, ['pauses.mjs', name, url, redis.url, pauses]),
    )
  } finally {
    await redis.stop()
  }
}

const runCost = (program, folder, { urls, cost }) => {
  console.log(`${COST}\n| --- | ---: | ---: | ---: | ---: |`)
  return onEach(urls, (name, url) => ran(program, folder, ['cost.mjs', name, url, cost]))
}

/** The suite, or a measurement, with each list of versions that is asked for. @returns whether all of it succeeded */
const runIn = async (folder, { versions, only, smoke, pauses, cost }) => {
  const node = await runtimeProgram(
    RUNTIMES.find(({ name }) => name === 'node-24'),
    { log },
  )
  if (node.reason !== undefined) throw new NotAvailable(node.reason)
  const { urls, sqliteTables, stop } = await startDatabases(folder, FENCE_TABLE, log)
  try {
    const tarballs = join(folder, 'tarballs')
    await mkdir(tarballs)
    const packed = await packAll(tarballs, interrupted)
    const measure = pauses ? runPauses : cost ? runCost : undefined
    const isSmall = smoke || measure !== undefined
    const all = isSmall ? ['newest'] : versions ? [versions] : Object.keys(VERSIONS)
    let isGreen = true
    for (const which of all) {
      const project = join(folder, which)
      const isChosen = (name) => only.length === 0 || only.includes(name)
      const wanted = which === 'compiled' ? ON_COMPILED.filter(isChosen) : only
      if (which === 'compiled' && wanted.length === 0) continue
      const libraries = await librariesFolder(which, isSmall).catch((error) => {
        if (which !== 'compiled' || !(error instanceof NotAvailable)) throw error
        log(`skipped, ${error.message}`)
      })
      if (libraries === undefined) continue
      await projectIn(project, libraries, packed)
      const prepare = `const { DatabaseSync } = await import('node:sqlite')
        const db = new DatabaseSync(process.argv[1])
        db.exec('PRAGMA journal_mode = WAL; DROP TABLE IF EXISTS holdfast_fences; DROP TABLE IF EXISTS things')
        for (const each of JSON.parse(process.argv[2])) db.exec(each)`
      await run(node.path, ['--input-type=module', '-e', prepare, urls.sqlite, JSON.stringify(sqliteTables)])
      const program = which === 'compiled' ? process.execPath : node.path
      const setting = { urls, only: wanted, pauses, cost }
      isGreen = (await (measure ?? runSuite)(program, project, setting)) && isGreen
    }
    return isGreen
  } finally {
    await stop()
  }
}

const [text, flag] = [{ type: 'string' }, { type: 'boolean', default: false }]
await runCommand({
  USAGE,
  options: {
    only: { ...text, multiple: true, default: [] },
    ...{ versions: text, smoke: flag, pauses: text, cost: text },
  },
  run: async (wanted) => {
    requireKnown('versions', wanted.versions ? [wanted.versions] : [], Object.keys(VERSIONS))
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-fence-')))
    return runIn(folder, wanted).finally(() => rm(folder, { recursive: true, force: true }))
  },
})
