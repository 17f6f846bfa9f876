import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually, soon, useRig } from '../support/rig.js'
import { frameworks, type WebServer } from '../support/web-frameworks.js'

describe.each(Object.entries(frameworks))('requests while Redis is down, in %s', (_name, framework) => {
  const redis = useRig({ redis: 'test' })
  let server: WebServer | undefined
  afterEach(() => server?.close())

  it.each(['stopped', 'paused'])('end with 503 and Retry-After: Redis %s', async (how) => {
    // How long ioredis keeps a timer after `disconnect` of what is closed already.
    const connection = redis.connection({ disconnectTimeout: 50 })
    const locks = await redis.client({ unavailableTimeoutMs: 1_000, bareCalls: 'throw' }, connection)
    server = await framework(
      locks,
      {
        lock: () => locks.getLock('a').withLock(() => ({ in: true })),
        attempt: () => locks.getLock('a').withLock(() => ({ in: true }), { waitMs: 0 }),
      },
      { errors: {} },
    )
    const { url } = server
    const post = async (path: string): Promise<unknown[]> => {
      const headers = { 'Content-Type': 'application/json' }
      const response = await fetch(`${url}/${path}/x`, { method: 'POST', headers, body: '{}' })
      return [response.status, response.headers.get('Retry-After')]
    }
    // Also on a machine that first stands still for longer than Redis may be away.
    await eventually(async () => (await post('lock'))[0] === 200)
    await (how === 'stopped' ? redis.server.kill() : redis.server.pause())
    const answers = Promise.all(Array.from({ length: 40 }, (_, i) => post(i % 2 === 0 ? 'lock' : 'attempt')))
    expect(await soon(answers, 15_000)).toEqual(Array(40).fill([503, '1']))
  })
})
