// One of ten processes that need an access token for each of their requests.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { getShare } from '@holdfast/core/share'
import { Redis } from 'ioredis'

const [way, providerUrl, requests] = process.argv.slice(2)
const redis = new Redis(process.env.REDIS_URL)
const locks = await LockClient.connect(redis)
const STORED = 'refresh-token:stored'
const [TOKEN_LIVES_MS, LEASE_MS, PAUSE_MS] = [150, 1_500, 15]

const ask = async (path) => {
  const headers = { 'x-process': String(process.pid) }
  const response = await globalThis.fetch(`${providerUrl}${path}`, { method: 'POST', headers })
  const body = await response.json()
  if (!response.ok) throw Object.assign(new Error(body.error), { code: body.error })
  return body
}

/** Refreshes with the token that is stored, and stores the next one. Dead in between, and the next one is lost. */
const refresh = async (run) => {
  const stored = await redis.get(STORED)
  // Right before what must not happen twice: whoever was paused beyond the lease does not get past this.
  await run?.verify()
  let issued
  try {
    issued = await ask(`/token?refresh_token=${stored}`)
  } catch (error) {
    if (error.code !== 'invalid_grant') throw error
    issued = await ask('/login')
  }
  await redis.set(STORED, issued.refresh_token)
  return issued.access_token
}

const shared = getShare(locks, 'refresh-token', { keepMs: TOKEN_LIVES_MS, leaseMs: LEASE_MS })
/** Each process caches for itself: it remembers the token for as long as it lives. */
let [own, ownUntil] = ['', 0]
const accessToken = async () => {
  if (way === 'shared') return shared.run('ada', refresh)
  if (Date.now() > ownUntil) [own, ownUntil] = [await refresh(), Date.now() + TOKEN_LIVES_MS]
  return own
}

for (let i = 0; i < Number(requests); i += 1) {
  process.send({ token: await accessToken() })
  await sleep(PAUSE_MS)
}
await locks.close()
redis.disconnect()
process.disconnect()
