import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { LockClient } from '@holdfast/core'
import { TestRedis, type TestRedisListener } from '../../src/index.js'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

let redis: TestRedis
let listener: TestRedisListener

beforeEach(async () => {
  redis = new TestRedis()
  listener = await redis.listen()
})
afterEach(() => listener.close())

/** Runs a program of another process; `url` is where it finds the TestRedis. Gives what it wrote. */
async function elsewhere(program: string, args: readonly string[], input = ''): Promise<string> {
  const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, REDIS_URL: listener.url } })
  let output = ''
  child.stdout.on('data', (text) => (output += String(text)))
  child.stderr.on('data', (text) => (output += String(text)))
  child.stdin.end(input)
  await once(child, 'close')
  return output
}

const inNode = (program: string): Promise<string> =>
  elsewhere(process.execPath, [
    '--input-type=module',
    '--eval',
    `const url = process.env.REDIS_URL\n${program}`,
  ])

/** A connection that sends bytes as they are, and has what came until the other side ends, or a text of it comes. */
class Raw {
  private received = ''
  private readonly socket: Socket
  private readonly ended: Promise<unknown>

  constructor() {
    this.socket = connect(listener.port, '127.0.0.1')
    this.socket.on('data', (bytes) => (this.received += bytes.toString('latin1')))
    this.socket.on('error', () => undefined)
    this.ended = once(this.socket, 'close')
  }

  send(text: string): this {
    this.socket.write(text, 'latin1')
    return this
  }

  async until(end: string): Promise<string> {
    while (!this.received.includes(end)) {
      await once(this.socket, 'data')
    }
    const at = this.received.indexOf(end) + end.length
    const text = this.received.slice(0, at)
    this.received = this.received.slice(at)
    return text
  }

  async untilEnd(): Promise<string> {
    await this.ended
    return this.received
  }

  pause(): void {
    this.socket.pause()
  }

  async close(): Promise<void> {
    this.socket.destroy()
    await this.ended
  }
}

const sent = (...words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`

describe('listen()', () => {
  it('lets ioredis in, with its subscriptions', async () => {
    const output = await inNode(`
      import { Redis } from 'ioredis'
      const [redis, hearer] = [new Redis(url), new Redis(url)]
      await hearer.subscribe('c')
      await hearer.psubscribe('c*')
      const heard = []
      const both = new Promise((resolve) => {
        const hear = (...message) => { if (heard.push(message.join(' ')) === 2) resolve() }
        hearer.on('message', hear).on('pmessage', hear)
      })
      await redis.hset('h', { f: 'é', g: 2 })
      await redis.publish('c', 'x')
      await both
      console.log(JSON.stringify([await redis.hgetall('h'), await redis.get('nothing'), heard,
        await redis.eval("return {1, redis.call('hlen', KEYS[1])}", 1, 'h')]))
      redis.disconnect()
      hearer.disconnect()`)
    expect(JSON.parse(output)).toEqual([{ f: 'é', g: '2' }, null, ['c x', 'c* c x'], [1, 2]])
  })

  it.each([2, 3])('lets node-redis in, with RESP %i', async (version) => {
    const output = await inNode(`
      import { createClient } from 'redis'
      const client = await createClient({ url, RESP: ${version} }).connect()
      const hearer = await client.duplicate().connect()
      const heard = new Promise((resolve) => void hearer.subscribe('c', resolve))
      await client.hSet('h', { f: 'v', g: 'w' })
      await client.zAdd('z', [{ value: 'm', score: 1.5 }])
      while ((await client.publish('c', 'x')) === 0);
      console.log(JSON.stringify([{ ...await client.hGetAll('h') }, await client.zScore('z', 'm'),
        await client.zRangeWithScores('z', 0, -1), await client.get('nothing'), await heard]))
      client.destroy()
      hearer.destroy()`)
    expect(JSON.parse(output)).toEqual([{ f: 'v', g: 'w' }, 1.5, [{ value: 'm', score: 1.5 }], null, 'x'])
  })

  const CLIS = ['redis-cli', 'valkey-cli'].filter((name) => spawnSync(name, ['--version']).status === 0)

  it.each([...CLIS.flatMap((cli) => [[cli], [cli, '-3']]), ['a socket']])('lets %s %s in', async (...cli) => {
    const [program = '', ...options] = cli.filter((word) => typeof word === 'string')
    if (program === 'a socket') {
      const raw = new Raw().send(sent('set', 'a', '1') + sent('incr', 'a') + sent('multi'))
      expect(await raw.until('with: \r\n')).toBe(
        "+OK\r\n:2\r\n-ERR unknown command 'multi', with args beginning with: \r\n",
      )
      await raw.close()
      return
    }
    const args = [...options, '-h', '127.0.0.1', '-p', `${listener.port}`]
    expect(await elsewhere(program, args, 'set a 1\nincr a\nhset h f v\nhgetall h\nmulti\n')).toMatch(
      /^OK\n2\n1\nf[\n ]v\nERR unknown command 'multi', with args beginning with: \n/,
    )
  })

  it('has one lock for a client here and one of another process, which is woken by the release (I1, I4)', async () => {
    const locks = new LockClient(redis)
    const hold = await locks.getLock('order:42').acquire()
    const other = inNode(`
      import { LockClient } from '@holdfast/core'
      const locks = await LockClient.connect(url)
      const lock = locks.getLock('order:42')
      console.log(await lock.tryLock(), await lock.tryLock(20_000))
      await lock.unlock()
      await locks.close()`)
    // It waits: its client subscribes then.
    while (((await redis.command('PUBSUB', 'CHANNELS', '*order:42*')) as string[]).length === 0) {
      await redis.settle()
    }
    await hold.release()
    expect(await other).toBe('false true\n')
    expect(await locks.getLock('order:42').isLocked()).toBe(false)
    await locks.close()
  })

  it('answers HELLO with what it is, and refuses a protocol that it does not speak', async () => {
    const raw = new Raw()
    raw.send(sent('hello', '4'))
    expect(await raw.until('\r\n')).toBe('-NOPROTO unsupported protocol version\r\n')
    raw.send(sent('HELLO', '3', 'SETNAME', 'me') + sent('client', 'getname'))
    expect(await raw.until('$2\r\nme\r\n')).toMatch(/^%7\r\n\$6\r\nserver\r\n\$5\r\nredis\r\n.*:3\r\n/s)
    raw.send(sent('get', 'nothing') + sent('reset') + sent('get', 'nothing'))
    expect(await raw.until('$-1\r\n')).toBe('_\r\n+RESET\r\n$-1\r\n')
    await raw.close()
  })

  it('allows a subscriber of RESP2 nothing but subscriptions', async () => {
    const raw = new Raw().send(sent('subscribe', 'c') + sent('get', 'a') + sent('ping'))
    const answer = await raw.until('$0\r\n\r\n')
    expect(answer).toContain("-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING")
    expect(answer).toMatch(/\*2\r\n\$4\r\npong\r\n\$0\r\n\r\n$/)
    raw.send(sent('unsubscribe') + sent('get', 'a'))
    expect(await raw.until('$-1\r\n')).toContain('unsubscribe')
    await raw.close()
  })

  it.each([
    ['what is no RESP', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a text where a list belongs', '$4\r\nping\r\n'],
    ['a number in a list', '*1\r\n:1\r\n'],
    ['a list in a list', '*1\r\n*1\r\n$4\r\nping\r\n'],
    ['lists in lists without end', '*1\r\n'.repeat(200_000)],
    ['more words than there can be', '*4294967299\r\n'],
    ['a request without end', `*2\r\n$100000000\r\n${'x'.repeat(17 * 1024 * 1024)}`],
    [
      'bytes by chance',
      Array.from({ length: 5_000 }, (_, i) => String.fromCharCode((i * i * 31) % 256)).join(''),
    ],
  ])('sends away who sends %s, and goes on', async (_, bytes) => {
    const raw = new Raw().send(bytes)
    expect(await raw.untilEnd()).toMatch(/^(-ERR Protocol error: [^\r\n]*\r\n)?$/)
    const next = new Raw().send(sent('ping'))
    expect(await next.until('\r\n')).toBe('+PONG\r\n')
    await next.close()
  })

  it('sends away who does not read, and keeps what it has to say to others', async () => {
    const raw = new Raw().send(sent('subscribe', 'c'))
    await raw.until(':1\r\n')
    raw.pause()
    const large = 'x'.repeat(1024 * 1024)
    // Fills the buffers of the system, then those up to the limit.
    for (let i = 0; i < 100 && (await redis.command('PUBLISH', 'c', large)) === 1; i += 1) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await redis.command('PUBSUB', 'NUMSUB', 'c')).toEqual(['c', 0])
    await raw.close()
  })

  it('is out of reach while the TestRedis is stopped', async () => {
    const before = new Raw().send(sent('ping'))
    await before.until('\r\n')
    redis.stop()
    expect(await before.untilEnd()).toBe('')
    expect(await new Raw().send(sent('ping')).untilEnd()).toBe('')
    redis.start()
    const after = new Raw().send(sent('ping'))
    expect(await after.until('\r\n')).toBe('+PONG\r\n')
    await after.close()
  })

  it('listens to this machine alone, at a free port, until it is closed', async () => {
    expect(listener.url).toBe(`redis://127.0.0.1:${listener.port}`)
    const open = new Raw().send(sent('ping'))
    await open.until('\r\n')
    await Promise.all([listener.close(), listener.close()])
    await open.untilEnd()
    const again = await redis.listen({ port: listener.port, host: 'localhost' })
    expect(again.port).toBe(listener.port)
    await expect(redis.listen({ port: again.port, host: 'localhost' })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    })
    await again.close()
  })

  it.each([
    [{ port: 65_536 }, 'port must be a whole number from 0 to 65535, but is 65536'],
    [{ port: 1.5 }, 'port must be a whole number from 0 to 65535, but is 1.5'],
    [{ host: '' }, 'host must be the name or address of this machine, but is ""'],
  ])('refuses %j', async (options, message) => {
    await expect(redis.listen(options)).rejects.toEqual(new TypeError(message))
  })
})
