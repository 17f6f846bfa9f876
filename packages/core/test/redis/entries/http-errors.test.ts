import { describe, expect, it } from '@jest/globals'
import Fastify from 'fastify'
import {
  LockHttpError,
  expressLockErrors,
  expressLocks,
  fastifyLocks,
  honoLocks,
  koaLocks,
  lockHttpError,
} from '../../../src/entries/http/index.js'
import {
  ClientClosedError,
  InvalidArgumentError,
  type LockError,
  LockLostError,
  LockBusyError,
  LockTimeoutError,
  QuorumError,
  RedisUnavailableError,
} from '../../../src/index.js'
import { ShareBusyError } from '../../../src/entries/share/index.js'
import { useRig } from '../support/rig.js'

const busy = new LockTimeoutError({ lockName: 'secret', waitedMs: 1, holder: undefined })

const crowded = new LockBusyError({
  lockName: 'secret',
  waiting: 3,
  maxWaiting: 3,
  firstWaitedMs: 1,
  holder: undefined,
})

describe('errors of locks as answers', () => {
  const harness = useRig({ redis: 'all' })

  const down = new RedisUnavailableError('down', { outcome: 'unknown', transient: true })
  const answered: Record<string, { error: LockError; status: number }> = {
    LOCK_TIMEOUT: { error: busy, status: 409 },
    REDIS_UNAVAILABLE: { error: down, status: 503 },
    QUORUM: { error: new QuorumError({ lockName: 'secret', needed: 2, nodes: [] }), status: 503 },
    LOCK_BUSY: { error: crowded, status: 503 },
    SHARE_BUSY: { error: new ShareBusyError('secret', 1, undefined), status: 503 },
    CLIENT_CLOSED: { error: new ClientClosedError('secret'), status: 503 },
  }

  it.each(Object.entries(answered))('%s has a status', (code, { error, status }) => {
    const answer = lockHttpError(error) as LockHttpError
    expect(answer).toBeInstanceOf(LockHttpError)
    expect(answer).toMatchObject({ status, statusCode: status, code, cause: error, expose: true })
    expect(answer.headers).toEqual({ 'Retry-After': '1' })
    expect(answer.message).not.toContain('secret')
  })

  it('LOCK_LOST says so, and tells nobody to try again what may have been done in part', () => {
    const error = new LockLostError({ lockName: 'secret', owner: 'b', reason: 'gone' })
    const answer = lockHttpError(error) as LockHttpError
    expect(answer).toMatchObject({ status: 500, code: 'LOCK_LOST', headers: {}, cause: error })
    expect(answer.message).not.toContain('secret')
  })

  it.each([
    ['of the work', busy, new LockLostError({ lockName: 'secret', owner: 'a:1', reason: 'gone' }), 409],
    ['of the end', new Error('no lock'), busy, 409],
  ])(
    'an error of two, as await using throws it, has the status of the one %s',
    (_which, suppressed, error, status) => {
      // The code that TypeScript writes for Node 20, which has no such class.
      const both = Object.assign(new Error('An error was suppressed during disposal.'), { error, suppressed })
      both.name = 'SuppressedError'
      expect(lockHttpError(both)).toMatchObject({ status, code: 'LOCK_TIMEOUT', cause: both })
    },
  )

  it('any other error stays as it is', () => {
    for (const error of [new TypeError('a bug'), 'thrown', undefined, null]) {
      expect(lockHttpError(error)).toBe(error)
    }
  })

  it.each([{ busyStatus: 400 }, { retryAfterMs: -1 }, { retryAfter: 1 }, 'all', []])(
    '%j is no way to answer',
    async (errors) => {
      const locks = await harness.client()
      const bad = errors as unknown as object
      expect(() => lockHttpError(busy, bad)).toThrow(InvalidArgumentError)
      expect(() => expressLockErrors(bad)).toThrow(InvalidArgumentError)
      for (const make of [fastifyLocks, koaLocks, honoLocks]) {
        expect(() => make(locks, { errors: bad })).toThrow(InvalidArgumentError)
        expect(() => make(locks, { error: {} } as never)).toThrow('did you mean errors?')
      }
    },
  )

  it.each([undefined, null, 5, {}, 'locks'])('a client cannot be %p', (locks) => {
    for (const make of [expressLocks, fastifyLocks, koaLocks, honoLocks]) {
      expect(() => make(locks as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', argument: 'locks' }),
      )
    }
  })

  it('go through the error handler that Fastify had, and leave a later one its own errors', async () => {
    const locks = await harness.client()
    const app = Fastify()
    app.setErrorHandler((error: LockHttpError, _request, reply) =>
      reply.status(error.statusCode).send({ mine: error.code }),
    )
    await app.register(fastifyLocks(locks, { errors: { busyStatus: 423 } }))
    app.get('/', () => Promise.reject(busy))
    await app.register((scope, _options, done) => {
      scope.setErrorHandler((error: LockTimeoutError, _request, reply) => reply.send({ theirs: error.name }))
      scope.get('/inner', () => Promise.reject(busy))
      done()
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const outer = await fetch(url)
    expect([outer.status, await outer.json()]).toEqual([423, { mine: 'LOCK_TIMEOUT' }])
    expect(await (await fetch(`${url}/inner`)).json()).toEqual({ theirs: 'LockTimeoutError' })
    await app.close()
  })
})
