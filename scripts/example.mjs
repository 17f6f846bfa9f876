// `npm run example -- <name>`: runs examples/<name>/main.mjs on a real Redis, which is found or started.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { provideRedis } from './redis/provide-redis.mjs'

const [name = '', ...args] = process.argv.slice(2)
const main = fileURLToPath(new URL(`../examples/${name}/main.mjs`, import.meta.url))
if (!/^[\w-]+$/.test(name) || !existsSync(main)) {
  console.error('Which example? npm run example -- <name>, with the name of a folder in examples/')
  process.exit(1)
}

const redis = await provideRedis()
const child = spawn(process.execPath, [main, ...args], {
  stdio: 'inherit',
  env: { ...process.env, REDIS_URL: redis.url },
})
// Ctrl-C reaches the whole process group; the example ends first, then the Redis that was started for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
const code = await new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)))
await redis.stop()
process.exit(code)
