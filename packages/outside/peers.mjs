// The oldest and the newest version of each peer that a package works with: a small program of each.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RedisServer } from '@holdfast/faults/harness'
import { requireKnown } from '../../scripts/command-line.mjs'
import { cachedFolder, fetched, fingerprint, NotAvailable } from '../../scripts/support/cache.mjs'
import { run } from '../../scripts/redis/run.mjs'
import { runCommand } from '../../scripts/run-command.mjs'

const USAGE = `Usage: npm run test:peers -- [--only bullmq]

  --only      one peer; may be given again
  --help

A version that cannot be fetched is skipped, with the reason. Exit code: 0 all programs passed.`
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** By peer: versions as npm takes them, and the program, which has `url`. BullMQ 5.66 to 5.72 have signals of their own. */
const LOCK = `if ((await locks.getLock('peer').withLock(() => 'in')) !== 'in') throw new Error('not in')
await locks.close()`
const CONNECT = `import { LockClient } from '@holdfast/core'\n`
const IOREDIS = (name) => `${CONNECT}import ${name === 'ioredis' ? '{ Redis }' : 'Redis'} from '${name}'
const client = new Redis(url)
const locks = await LockClient.connect(client)
${LOCK}
client.disconnect()`
const NODE_REDIS = (name) => `${CONNECT}import { createClient } from '${name}'
const client = await createClient({ url }).connect()
const locks = await LockClient.connect(client)
${LOCK}
client.destroy()`
const BULLMQ = `${CONNECT}import { locked } from '@holdfast/bullmq'
import { Queue, Worker } from 'bullmq'
const connection = { host: '127.0.0.1', port: +new URL(url).port, maxRetriesPerRequest: null }
const locks = await LockClient.connect(url)
const queue = new Queue('peer', { connection })
const work = locked(async (job, token, signal) => signal instanceof AbortSignal, { locks, name: 'peer' })
const worker = new Worker('peer', work, { connection })
const ended = new Promise((resolve, reject) => worker.on('completed', (_, value) => resolve(value)).on('failed', (_, e) => reject(e)))
await queue.add('one', {})
if ((await ended) !== true) throw new Error('no signal')
await worker.close()
await queue.close()
await locks.close()`
const NEST = `import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { LockClient } from '@holdfast/core'
import { LocksModule } from '@holdfast/nestjs'
class App {}
Module({ imports: [LocksModule.forRoot({ redis: url })] })(App)
const app = await NestFactory.createApplicationContext(App, { logger: ['error'] })
const locks = app.get(LockClient)
${LOCK.replace('await locks.close()', 'await app.close()')}`
const OTEL = `import { metrics } from '@opentelemetry/api'
import { LockClient } from '@holdfast/core'
import { instrument } from '@holdfast/otel'
let added = 0
const instrumentOf = () => ({ add: () => (added += 1), record: () => (added += 1), addCallback() {}, removeCallback() {} })
const meter = new Proxy({}, { get: () => instrumentOf })
const telemetry = instrument({ meterProvider: { getMeter: () => meter } })
const locks = await LockClient.connect(url)
${LOCK}
telemetry.disable()
if (added === 0) throw new Error('nothing was counted')`
/** Nest's packages have one version, and its own peers. */
const WITH_NEST = (version) => [`@nestjs/core@${version}`, 'reflect-metadata', 'rxjs@7', 'ioredis@6']
const WITH = {
  bullmq: (version) => (version < '6' ? [] : ['ioredis@5']),
  '@nestjs/common': WITH_NEST,
  rxjs: () => [...WITH_NEST('12').slice(0, 2), '@nestjs/common@12', 'ioredis@6'],
  '@opentelemetry/api': () => ['ioredis@6'],
}
const PEERS = {
  '@nestjs/common': [['11.0.0', '11', '12.0.0', '12'], NEST],
  rxjs: [['7.2.0', '7'], NEST],
  '@opentelemetry/api': [['1.9.0', '1'], OTEL],
  bullmq: [['5.61.0', '5.66.0', '5.72.1', '5', '6.0.0', '6'], BULLMQ],
  ioredis: [['5.4.0', '5', '6.0.0', '6'], IOREDIS('ioredis')],
  iovalkey: [['0.4.0', '0.4'], IOREDIS('iovalkey').replace('Redis from', '{ Redis } from')],
  redis: [['5.5.5', '5', '6.0.0', '6'], NODE_REDIS('redis')],
  '@redis/client': [['5.5.5', '5', '6.0.0', '6'], NODE_REDIS('@redis/client')],
}

/**
 * A project with this version, and with links to the packages of this tree, which its name has the hash of. It is
 * elsewhere: inside this tree its packages would stand in for what is missing.
 */
const projectOf = async (name, version) => {
  const wanted = [`${name}@${version}`, ...(WITH[name]?.(version) ?? [])]
  return cachedFolder(
    `peers/${wanted[0].replace('/', '+')}-${fingerprint(ROOT, ...wanted)}`,
    async ({ part }) => {
      await writeFile(join(part, 'package.json'), '{ "type": "module" }')
      const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...wanted]
      // Nest's core 12.0.0 says that it needs 11.
      if (name !== 'bullmq' && WITH[name]) args.push('--legacy-peer-deps')
      await fetched(wanted[0], 'npm', args, { cwd: part })
      await mkdir(join(part, 'node_modules/@holdfast'))
      for (const each of ['core', 'watchdog', 'waiter', 'bullmq', 'nestjs', 'otel']) {
        await symlink(join(ROOT, 'packages', each), join(part, 'node_modules/@holdfast', each))
      }
    },
  )
}

const newest = async (name, range) => {
  const said = await fetched(`${name} ${range}`, 'npm', ['view', `${name}@${range}`, 'version', '--json'])
  const versions = [JSON.parse(said)].flat()
  return versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)
}

const runAll = async ({ only }) => {
  requireKnown('only', only, Object.keys(PEERS))
  const server = await RedisServer.start()
  let held = true
  try {
    for (const name of only) {
      const [versions, program] = PEERS[name]
      const done = new Set()
      for (const wanted of versions) {
        try {
          const version = /^\d+\.\d+\.\d+$/.test(wanted) ? wanted : await newest(name, wanted)
          // The newest may be the oldest.
          if (done.has(version)) continue
          done.add(version)
          const cwd = await projectOf(name, version)
          await writeFile(join(cwd, 'peer.mjs'), `const url = '${server.url}'\n${program}`)
          // Peers are found beside the link, and not in this tree.
          const failure = await run(process.execPath, ['--preserve-symlinks', 'peer.mjs'], { cwd }).catch(
            (e) => e,
          )
          console.log(`${name} ${version}: ${failure instanceof Error ? failure.message : 'passed'}`)
          held &&= !(failure instanceof Error)
        } catch (error) {
          if (!(error instanceof NotAvailable)) throw error
          console.log(`${name} ${wanted}: skipped: ${error.message}`)
        }
      }
    }
    return held
  } finally {
    await server.stop()
  }
}

const options = { only: { type: 'string', multiple: true, default: Object.keys(PEERS) } }
await runCommand({ USAGE, options, run: runAll })
