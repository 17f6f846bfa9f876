import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { LockClient } from '@holdfast/core'
import { gunzipSync } from 'node:zlib'
import { request as openRequest } from 'node:http'
import { eventually, useRig } from '../../../core/test/redis/support/rig.js'
import { createBoard, type Board, type BoardAction, type BoardOptions } from '../../src/index.js'
import { serveBoard, type ServedBoard } from './support/board-rig.js'

const rig = useRig()
let locks: LockClient

beforeEach(async () => {
  locks = await rig.client({ clientName: 'orders' })
})

const serve = async (options?: BoardOptions): Promise<ServedBoard> => {
  const served = await serveBoard(locks, options)
  rig.atEnd(() => served.close())
  return served
}

async function tokenOf({ url }: Pick<ServedBoard, 'url'>): Promise<string> {
  return ((await (await fetch(`${url}token`)).json()) as { token: string }).token
}

/** Reads a stream of a board until it has told enough. */
async function readUntil(board: Board, path: string, isEnough: (text: string) => boolean): Promise<void> {
  const reader = (await board.fetch(new Request(`http://board.local${path}`))).body!.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!isEnough(text)) text += decoder.decode((await reader.read()).value as Uint8Array)
  await reader.cancel()
}

const RELEASED = { status: 200, outcome: 'released' }

/** A request of the page, unless something is left out or changed. */
async function breakLock(
  { url }: ServedBoard,
  query: Record<string, string>,
  headers: Record<string, string | undefined> = {},
): Promise<{ status: number; outcome: string; message: string }> {
  const all: Record<string, string | undefined> = {
    ...{ Origin: new URL(url).origin, 'X-Holdfast-Token': await tokenOf({ url }) },
    ...headers,
  }
  const given = Object.entries(all).filter((each): each is [string, string] => each[1] !== undefined)
  const reply = await fetch(`${url}break?${new URLSearchParams(query).toString()}`, {
    method: 'POST',
    headers: given,
  })
  return { status: reply.status, ...((await reply.json()) as { outcome: string; message: string }) }
}

describe('a request to break a lock', () => {
  const allow: BoardOptions = { authorize: () => true }

  it.each([
    ['of another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['of another origin of this site', { 'Sec-Fetch-Site': 'same-site' }],
    ['with the origin of another page', { Origin: 'http://evil.example' }],
    ['of a page without an origin', { Origin: 'null' }],
    ['without an origin', { Origin: undefined }],
    ['without a token', { 'X-Holdfast-Token': undefined }],
    ['with a token that somebody made', { 'X-Holdfast-Token': `${Date.now()}.${'a'.repeat(43)}` }],
    ['with nonsense for a token', { 'X-Holdfast-Token': 'nonsense' }],
  ])('%s is refused, and logged', async (_, headers) => {
    const hold = await locks.getLock('a').acquire()
    const served = await serve(allow)
    const reply = await breakLock(served, { lock: 'a', holder: hold.owner }, headers)
    expect(reply).toMatchObject({ status: 403, outcome: 'denied' })
    expect(served.log).toMatchObject([{ outcome: 'denied', lockName: 'a', holder: hold.owner }])
    expect(await hold.release()).toBe('released')
  })

  it('with a token of another board is refused, unless they have one secret', async () => {
    const hold = await locks.getLock('a').acquire()
    const secret = 'a secret of two boards'
    const boards = [
      await serve({ ...allow }),
      await serve({ ...allow, secret }),
      await serve({ ...allow, secret }),
    ]
    const tokens = await Promise.all(boards.map(tokenOf))
    const ask = (token: string) =>
      breakLock(boards[2]!, { lock: 'a', holder: hold.owner }, { 'X-Holdfast-Token': token })
    expect(await ask(tokens[0]!)).toMatchObject({ status: 403 })
    expect(await ask(tokens[1]!)).toMatchObject(RELEASED)
  })

  it('with an old token is refused', async () => {
    const served = await serve(allow)
    const old = (await tokenOf(served)).replace(/^\d+/, String(Date.now() - 3_700_000))
    expect(await breakLock(served, { lock: 'a', holder: 'b' }, { 'X-Holdfast-Token': old })).toMatchObject({
      status: 403,
    })
  })

  it('is refused without authorize, by one that throws, and by an answer that is neither', async () => {
    const hold = await locks.getLock('a').acquire()
    const throws = (_: never, { type }: BoardAction): boolean => {
      if (type === 'break') {
        throw new Error('no such session')
      }
      return true
    }
    const truthy = (_: never, { type }: BoardAction) => (type === 'view' ? true : ({ id: 7 } as never))
    const secret = 'a secret of all boards'
    // Whom authorize refuses to look gets no token from the board itself.
    const token = await tokenOf(await serve({ secret }))
    for (const authorize of [undefined, throws, truthy, () => Promise.resolve(false)]) {
      const served = await serve({ secret, authorize: authorize as BoardOptions['authorize'] })
      const query = new URLSearchParams({ lock: 'a', holder: hold.owner })
      const reply = await fetch(`${served.url}break?${query.toString()}`, {
        method: 'POST',
        headers: { Origin: new URL(served.url).origin, 'X-Holdfast-Token': token },
      })
      expect(reply.status).toBe(403)
      expect(await reply.text()).toMatch(/read-only|You may not/)
    }
    expect(await hold.release()).toBe('released')
  })

  it('asks authorize with the request, the lock and the holder', async () => {
    const hold = await locks.getLock('a').acquire()
    const asked: [string | undefined, BoardAction][] = []
    const served = await serve({
      authorize: (request: { url?: string }, action) => {
        asked.push([request.url, action])
        return true
      },
    })
    await breakLock(served, { lock: 'a', holder: hold.owner })
    expect(asked.map(([, action]) => action)).toEqual([
      { type: 'view' },
      { type: 'view' },
      { type: 'break', lockName: 'a', holder: hold.owner },
    ])
    expect(asked[2]![0]).toMatch(/^\/break\?lock=a&/)
  })

  it('releases the writer, the readers, the fair lock and what waits behind them', async () => {
    const served = await serve(allow)
    const others = await rig.client({ clientName: 'others' })
    const both = locks.getReadWriteLock('documents')
    for (const [name, first, waiter] of [
      ['documents', both.writeLock(), others.getReadWriteLock('documents').readLock()],
      ['documents', both.readLock(), others.getReadWriteLock('documents').writeLock()],
      ['queue', locks.getFairLock('queue'), others.getFairLock('queue')],
      ['plain', locks.getLock('plain'), others.getLock('plain')],
    ] as const) {
      const hold = await first.acquire()
      const next = waiter.acquire()
      await eventually(async () => (await locks.inspectAll()).locks.some((lock) => lock.name === name))
      const [shown] = (await locks.inspectAll({ match: name })).locks[0]!.holders
      expect(await breakLock(served, { lock: name, holder: shown!.owner })).toMatchObject(RELEASED)
      await (await next).release()
      await eventually(() => hold.signal.aborted)
    }
  })

  it('a request to break a lock of a lock that nobody has, or that another library has, releases nothing', async () => {
    const served = await serve(allow)
    expect(await breakLock(served, { lock: 'a', holder: 'x:1' })).toMatchObject({ outcome: 'not-held' })
    expect(await breakLock(served, { lock: '', holder: 'x:1' })).toMatchObject({ status: 400 })
    await rig.admin.set('text', 'f'.repeat(32), 'PX', 60_000)
    const reply = await breakLock(served, { lock: 'text', holder: 'f'.repeat(32) })
    expect(reply).toMatchObject({ status: 503, outcome: 'failed' })
    expect(served.log.map(({ outcome }) => outcome)).toEqual(['not-held', 'denied', 'failed'])
    expect(await rig.admin.get('text')).toBe('f'.repeat(32))
    await rig.admin.flushall()
  })

  it('answers what became of the lock, whatever becomes of the log', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const fails: (() => never)[] = [
      () => {
        throw new Error('the disk is full')
      },
      () => Promise.reject(new Error('the disk is full')) as never,
    ]
    for (const log of fails) {
      const hold = await locks.getLock('a').acquire()
      const served = await serve({ ...allow, log })
      expect(await breakLock(served, { lock: 'a', holder: hold.owner })).toMatchObject(RELEASED)
    }
    // The client warns of the loss too, the first time in a process.
    const ofTheLog = () =>
      warn.mock.calls.map(([text]) => String(text)).filter((text) => text.includes('log()'))
    await eventually(() => ofTheLog().length === fails.length)
    expect(ofTheLog()).toEqual(fails.map(() => 'log() of the board failed: Error: the disk is full'))
    warn.mockRestore()
  })

  it('says so when Redis does not answer', async () => {
    const slow = await rig.client({ commandTimeout: 200 })
    const served = await serveBoard(slow, allow)
    rig.atEnd(() => served.close())
    await rig.server.pause()
    expect(await breakLock(served, { lock: 'a', holder: 'x:1' })).toMatchObject({
      status: 503,
      outcome: 'failed',
    })
    rig.server.resume()
  })
})

describe('the page', () => {
  it('comes from one place, with a policy that allows no other, and no script or style of its own in it', async () => {
    const { url } = await serve()
    for (const file of ['', 'board.js', 'board.css', 'icon.svg']) {
      const reply = await fetch(url + file)
      const policy = reply.headers.get('content-security-policy') ?? ''
      expect([reply.status, policy.includes("default-src 'none'")]).toEqual([200, true])
      expect(policy).not.toMatch(/unsafe|\*|http/)
      expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
      expect(reply.headers.get('x-frame-options')).toBe('DENY')
    }
    const html = await (await fetch(url)).text()
    expect(html).not.toMatch(/<style|style=|\son\w+=|https?:|<script(?![^>]* src="board\.js")/)
  })

  it('weighs less than 100 kB, and is not sent again while it is the same', async () => {
    const { url } = await serve()
    let bytes = 0
    for (const file of ['', 'board.js', 'board.css', 'icon.svg']) {
      const [body, etag] = await raw(url + file)
      bytes += body.length
      expect(gunzipSync(body).length).toBeGreaterThan(body.length)
      const again = await fetch(url + file, { headers: { 'If-None-Match': etag } })
      expect(again.status).toBe(304)
    }
    expect(bytes).toBeLessThan(100_000)
  })

  it('is where it is mounted, and a slash is added', async () => {
    const served = await serve({ basePath: '/admin/locks' })
    const { origin } = new URL(served.url)
    expect((await fetch(`${origin}/admin/locks/`)).status).toBe(200)
    const redirect = await fetch(`${origin}/admin/locks`, { redirect: 'manual' })
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, 'locks/'])
    expect((await fetch(`${origin}/admin/locks`)).url).toBe(`${origin}/admin/locks/`)
    for (const path of ['/', '/admin/locksmith', '/admin/locks/other', '/admin/locks/%2e%2e/board.js']) {
      expect([path, (await fetch(origin + path)).status]).toEqual([path, 404])
    }
  })

  it('is shown to whom authorize allows it, at every address', async () => {
    const { url } = await serve({ authorize: () => false })
    for (const path of ['', 'board.js', 'live', 'live?lock=a', 'token']) {
      expect([path, (await fetch(url + path)).status]).toEqual([path, 403])
    }
    expect((await fetch(`${url}break`, { method: 'POST' })).status).toBe(403)
  })

  it('answers to the hosts it is told', async () => {
    const { url } = await serve({ allowedHosts: ['localhost'] })
    expect((await fetch(url)).status).toBe(421)
    expect((await fetch(url.replace('127.0.0.1', 'localhost'))).status).toBe(200)
  })

  it('refuses other methods, and HEAD has no body', async () => {
    const { url } = await serve()
    expect((await fetch(url, { method: 'POST' })).status).toBe(405)
    expect((await fetch(`${url}break`)).status).toBe(405)
    for (const path of ['', 'live']) {
      const head = await fetch(url + path, { method: 'HEAD' })
      expect([head.status, await head.text()]).toEqual([200, ''])
    }
  })
})

/** A request that a framework may make. */
const requestOf = (url: string, headers: object = {}): Request =>
  Object.create(Request.prototype, {
    url: { value: url },
    method: { value: 'GET' },
    headers: { value: headers },
  }) as Request

describe('a request that cannot be read', () => {
  it('is refused with a reason, and what fails in the board is not called that', async () => {
    const board = createBoard(locks)
    rig.atEnd(() => board.close())
    const broken = await board.fetch(requestOf('no URL'))
    expect([broken.status, await broken.text()]).toEqual([400, 'The URL is none.'])
    expect(broken.headers.get('content-security-policy')).toContain("default-src 'none'")
    const headers = {
      get: () => {
        throw new Error('no headers')
      },
    }
    const failed = await board.fetch(requestOf('http://board.local/', headers))
    expect([failed.status, await failed.text()]).toEqual([
      500,
      'The board failed. The process that serves it has a warning.',
    ])
  })
})

describe('fetch()', () => {
  it('gives the same as handle()', async () => {
    const hold = await locks.getLock('a').acquire()
    const board = createBoard(locks, { basePath: '/locks', authorize: () => true, log: () => undefined })
    rig.atEnd(() => board.close())
    const at = (path: string, init?: RequestInit): Promise<Response> =>
      board.fetch(new Request(`http://board.local/locks/${path}`, init))
    expect(await (await at('')).text()).toContain('board.js')
    const { token } = (await (await at('token')).json()) as { token: string }
    const reply = await at(`break?lock=a&holder=${encodeURIComponent(hold.owner)}`, {
      method: 'POST',
      headers: { Origin: 'http://board.local', 'X-Holdfast-Token': token },
    })
    expect(await reply.json()).toMatchObject({ outcome: 'released' })
    const live = await at('live')
    const reader = live.body!.getReader()
    const text = new TextDecoder().decode((await reader.read()).value as Uint8Array)
    expect(text).toMatch(/^event: hello\ndata: \{.*"canBreak":true\}\n\n/)
    await reader.cancel()
  })
})

describe('the page of one lock', () => {
  it.each([
    ['any string', () => rig.admin.set('a', 'ADDED:now@vm'), '"ADDED:now@vm"', /^$/],
    ['a sorted set', () => rig.admin.zadd('a', 1, '__write__'), 'null', /"a" is not a lock/],
    ['an entity', () => rig.admin.hset('a', 'status', 'paid'), 'null', /"a" is not a lock/],
    ['nothing', () => Promise.resolve(), 'null', /^$/],
  ])(
    'the page of one lock of the name of %s says what has it, and guesses nothing',
    async (_, put, row, trouble) => {
      await put()
      const board = createBoard(await rig.client({ foreignLocks: 'wait' }))
      rig.atEnd(() => board.close())
      await readUntil(board, '/live?lock=a', (text) => {
        const told =
          [...text.matchAll(/^event: lock\ndata: (.*)\n\n/gm)].at(-1)?.[1] ?? '{"trouble":"none yet"}'
        const state = JSON.parse(told) as { row?: unknown; trouble: string }
        return JSON.stringify(state.row ?? null).includes(row) && trouble.test(state.trouble)
      })
      await rig.admin.del('a')
    },
  )
})

describe('what it does in Redis', () => {
  it('is nothing before a page is open, and ends a minute after the last at the latest', async () => {
    const board = createBoard(locks)
    rig.atEnd(() => board.close())
    await rig.server.resetStats()
    await board.fetch(new Request('http://board.local/'))
    const idle = await rig.server.commandStats()
    expect([idle.get('scan'), idle.get('evalsha')]).toEqual([undefined, undefined])
    const live = (await board.fetch(new Request('http://board.local/live'))).body!
    await eventually(async () => ((await rig.server.commandStats()).get('scan') ?? 0) > 0)
    await live.cancel()
    await board.close()
    await rig.server.resetStats()
    expect((await board.fetch(new Request('http://board.local/'))).status).toBe(503)
  })

  it('searches no more keys a second than it may', async () => {
    await rig.admin.eval("for i = 1, 5000 do redis.call('hset', 'other:' .. i, 'a', i) end", 0)
    const hold = await locks.getLock('a').acquire()
    const board = createBoard(locks, { scanKeysPerSecond: 100 })
    rig.atEnd(() => board.close())
    let states: { now: number; keysInPass: number }[] = []
    await readUntil(board, '/live', (text) => {
      const told = [...text.matchAll(/^event: state\ndata: (.*)\n\n/gm)].map(([, data]) => data!)
      states = told.map((data) => JSON.parse(data) as (typeof states)[number])
      return states.length >= 2 && states.at(-1)!.now - states[0]!.now >= 1_500
    })
    const [before, after] = [states[0]!, states.at(-1)!]
    const perSecond = (after.keysInPass - before.keysInPass) / ((after.now - before.now) / 1_000)
    expect(perSecond).toBeLessThanOrEqual(120)
    await hold.release()
    await rig.admin.flushall()
  })
})

it.each([
  [{ basePath: 'locks' }, 'basePath'],
  [{ basePath: '/a?b' }, 'basePath'],
  [{ authorize: true as never }, 'authorize'],
  [{ log: 'x' as never }, 'log'],
  [{ title: 7 as never }, 'title'],
  [{ allowedHosts: ['localhost:80'] }, 'allowedHosts'],
  [{ secret: 'short' }, 'secret'],
  [{ scanKeysPerSecond: 1_001 }, 'scanKeysPerSecond'],
  [{ looksPerSecond: 0 }, 'looksPerSecond'],
  [{ autorize: () => true } as never, 'options'],
])('%j is refused', (options, argument) => {
  expect(() => createBoard(locks, options as BoardOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }),
  )
})

/** The bytes that travel, and their ETag. */
function raw(url: string): Promise<[Buffer, string]> {
  return new Promise((resolve, reject) => {
    const request = openRequest(url, { headers: { 'Accept-Encoding': 'gzip' } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve([Buffer.concat(chunks), response.headers.etag ?? '']))
    })
    request.on('error', reject)
    request.end()
  })
}
