// The handler of signals in docs/services.md under what restarts services: the next process has the lock at once, though the work of the
// one before ignores its signal.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const env = { ...process.env, PM2_HOME: join(process.cwd(), '.pm2') }
const bin = (name) => join(process.cwd(), 'node_modules/.bin', name)
const redis = new Redis(process.env.REDIS_URL)
const [RECIPE] = JSON.parse(await readFile('recipes.json', 'utf8'))['docs/services.md'].Shutdown.blocks

const serviceIn = async (name) => {
  const file = `service-${name}.mjs`
  const text = `import { createServer } from 'node:http'
import { LockClient } from '@holdfast/core'
import { Redis } from 'ioredis'
const locks = await LockClient.connect(process.env.REDIS_URL)
const server = createServer().listen(0)
const worker = { close: async () => undefined }
${RECIPE}
const redis = new Redis(process.env.REDIS_URL)
await locks.getLock('${name}').withLock(async () => {
  await redis.rpush('${name}:held', process.pid)
  await new Promise(() => setInterval(() => undefined, 1_000))
})
`
  await writeFile(file, text)
  return file
}

const run = async (program, args) => once(spawn(program, args, { env, stdio: 'ignore' }), 'exit')

/** How each starts a file and lets the next process follow. */
const HOSTS = {
  'SIGTERM, as Docker and Kubernetes send it': (file) => {
    let child = spawn(process.execPath, [file], { env, stdio: 'ignore' })
    return {
      restart() {
        child.kill('SIGTERM')
        child = spawn(process.execPath, [file], { env, stdio: 'ignore' })
      },
      stop: () => child.kill('SIGKILL'),
    }
  },
  nodemon: (file) => watcher(bin('nodemon'), ['--quiet', '--watch', file, file], file),
  'tsx watch': (file) => watcher(bin('tsx'), ['watch', file], file),
  'pm2 reload': async (file) => {
    await run(bin('pm2'), ['start', file, '--name', file, '-i', '1'])
    return { restart: () => void run(bin('pm2'), ['reload', file]), stop: () => run(bin('pm2'), ['kill']) }
  },
}

const watcher = (program, args, file) => {
  const child = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  return {
    restart: () => void utimes(file, new Date(), new Date()),
    stop: () => process.kill(-child.pid, 'SIGKILL'),
  }
}

const holders = (name, count) =>
  (async () => {
    const limit = Date.now() + 60_000
    while ((await redis.llen(`${name}:held`)) < count && Date.now() < limit) await sleep(20)
    return Date.now() < limit
  })()

let isRight = true
for (const [host, start] of Object.entries(HOSTS)) {
  const name = `street-${process.pid}-${host.split(/\W/)[0]}`
  const file = await serviceIn(name)
  const service = await start(file)
  await holders(name, 1)
  await sleep(500)
  const from = Date.now()
  service.restart()
  const isHeld = await holders(name, 2)
  const ms = Date.now() - from
  await service.stop()
  await redis.del(`${name}:held`, name)
  const isQuick = isHeld && ms < 15_000
  isRight &&= isQuick
  console.log(`${isQuick ? 'ok' : 'WRONG'}: ${host}: the next process had the lock after ${ms} ms`)
}
redis.disconnect()
process.exit(isRight ? 0 : 1)
