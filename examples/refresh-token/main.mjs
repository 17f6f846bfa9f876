// Ten processes share the tokens of one user, whose provider revokes them all when a refresh token comes twice.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { Provider } from './provider.mjs'

const [PROCESSES, REQUESTS, KILLS_OF_EACH] = [10, 40, 3]
const STEPS = ['before', 'between', 'after']
const STORED = 'refresh-token:stored'
process.env.REDIS_URL ??= 'redis://localhost:6379'
const redis = new Redis(process.env.REDIS_URL)
const forget = async () => {
  const left = await redis.keys('*refresh-token*')
  if (left.length > 0) await redis.del(...left)
}

/** @param {string[]} plan at which steps processes are killed, one after the other */
const run = async (way, plan) => {
  await forget()
  const provider = new Provider()
  const url = await provider.listen()
  const services = new Map()
  const counts = { requests: 0, kills: 0, lost: 0 }
  const ended = []
  const start = () => {
    const service = fork(new URL('./service.mjs', import.meta.url), [way, url, String(REQUESTS)])
    services.set(service.pid, service)
    service.on('message', () => (counts.requests += 1))
    const exit = once(service, 'exit').then(([code]) => {
      services.delete(service.pid)
      if (code !== 0 && !service.killed) throw new Error(`a service ended with ${code}`)
    })
    ended.push(exit)
    return exit
  }
  const replace = async (step, service) => {
    service.kill('SIGKILL')
    await once(service, 'exit')
    counts.kills += 1
    // Between the server's answer and our write: nobody has the token that is good now.
    if (step !== 'before' && (await redis.get(STORED)) !== provider.current) counts.lost += 1
    start()
  }
  provider.onStep = async (step, pid) => {
    const service = services.get(pid)
    // It died while its request was on the way, and the provider has rotated for nobody.
    if (step === 'between' && !service) counts.lost += 1
    // The first login is everybody's.
    if (plan[0] !== step || !service || provider.refreshes < 2) return
    plan.shift()
    // The run goes on until the next one is there, also where this was the last that still had requests to make.
    const replaced = replace(step, service)
    ended.push(replaced)
    await replaced
  }
  for (let i = 0; i < PROCESSES; i += 1) start()
  for (let settled = 0; settled < ended.length; settled += 1) await ended[settled]
  await provider.close()
  await forget()
  const { refreshes, revocations } = provider
  const lost =
    plan.length === 0 && way === 'shared' ? `, ${counts.lost} with the next token in their hands` : ''
  const killed = counts.kills > 0 ? `, ${counts.kills} processes killed${lost}` : ''
  console.log(
    `${way}: ${counts.requests} requests, ${refreshes} refreshes${killed}, the family was revoked ${revocations} times`,
  )
  return { ...counts, refreshes, revocations }
}

const alone = await run('each for itself', [])
const plan = Array.from({ length: KILLS_OF_EACH }, () => STEPS).flat()
const shared = await run('shared', plan)
redis.disconnect()
const isRight =
  alone.revocations > 0 &&
  plan.length === 0 &&
  shared.kills === STEPS.length * KILLS_OF_EACH &&
  shared.revocations === shared.lost &&
  shared.lost >= KILLS_OF_EACH
console.log(
  isRight
    ? 'shared, it is revoked only where a process died between the answer and the write'
    : 'NOT as it should be',
)
process.exitCode = isRight ? 0 : 1
