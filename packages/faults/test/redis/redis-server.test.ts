import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from '@jest/globals'
import { RedisReplyError, RedisServer } from '@holdfast/faults/harness'
import { eventually, isAlive } from './support.js'

let server: RedisServer | undefined
const start = async (options?: Parameters<typeof RedisServer.start>[0]): Promise<RedisServer> => {
  server = await RedisServer.start(options)
  return server
}
const folderOf = async (redis: RedisServer): Promise<string> => {
  const [, dir] = (await redis.command('CONFIG', 'GET', 'dir')) as [string, string]
  return dir
}

afterEach(async () => {
  await server?.stop()
  server = undefined
})

describe('RedisServer', () => {
  test('starts, answers commands and leaves nothing behind', async () => {
    const redis = await start()
    expect(redis.url).toBe(`redis://127.0.0.1:${redis.port}`)
    expect(await redis.command('SET', 'a', 1)).toBe('OK')
    expect(await redis.command('GET', 'a')).toBe('1')
    expect(await redis.command('MGET', 'a', 'none')).toEqual(['1', null])
    await expect(redis.command('INCR')).rejects.toThrow(RedisReplyError)
    const { pid } = redis
    const folder = await folderOf(redis)
    await redis.stop()
    await redis.stop()
    expect(isAlive(pid)).toBe(false)
    expect(existsSync(folder)).toBe(false)
    await expect(redis.command('PING')).rejects.toThrow('ECONNREFUSED')
  })

  test('persists nothing and allows DEBUG unless told otherwise', async () => {
    const redis = await start()
    expect(await redis.command('CONFIG', 'GET', 'save')).toEqual(['save', ''])
    expect(await redis.command('CONFIG', 'GET', 'appendonly')).toEqual(['appendonly', 'no'])
    expect(await redis.command('DEBUG', 'SLEEP', '0')).toBe('OK')
  })

  test('passes its arguments on', async () => {
    const redis = await start({ args: ['--save', '900 1', '--maxmemory', '10mb', '--appendonly', 'yes'] })
    expect(await redis.command('CONFIG', 'GET', 'save')).toEqual(['save', '900 1'])
    expect(await redis.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '10485760'])
    expect(await redis.command('CONFIG', 'GET', 'appendonly')).toEqual(['appendonly', 'yes'])
  })

  test("rejects with the server's own output when it cannot start", async () => {
    await expect(RedisServer.start({ args: ['--no-such-directive', '1'] })).rejects.toThrow(
      /did not start on port \d+: it ended at once[^]*no-such-directive/,
    )
    await expect(RedisServer.start({ binary: '/nowhere/redis-server' })).rejects.toThrow('ENOENT')
  })

  test('a taken port is an error, although somebody answers there', async () => {
    const other = await start()
    await expect(RedisServer.start({ port: other.port })).rejects.toThrow(/Address already in use/i)
  })

  test('restart keeps the port and, unless empty, the data', async () => {
    const redis = await start()
    const { port, pid } = redis
    await redis.command('SET', 'a', 1, 'PX', 60_000)
    await redis.restart()
    expect(redis.port).toBe(port)
    expect(redis.pid).not.toBe(pid)
    expect(await redis.command('GET', 'a')).toBe('1')
    await redis.restart({ empty: true })
    expect(await redis.command('DBSIZE')).toBe(0)
  })

  test('after a crash only what was persisted is back, and no snapshot of an earlier restart', async () => {
    const redis = await start()
    await redis.command('SET', 'a', 1)
    await redis.restart()
    await redis.kill()
    await redis.restart()
    expect(await redis.command('DBSIZE')).toBe(0)
    await redis.stop()

    const durable = await start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
    await durable.command('SET', 'a', 1)
    await durable.kill()
    await durable.restart()
    expect(await durable.command('GET', 'a')).toBe('1')
    await durable.restart({ empty: true })
    expect(await durable.command('GET', 'a')).toBeNull()
  })

  test('a paused server answers nothing until it is resumed, and can be stopped', async () => {
    const redis = await start()
    await redis.pause()
    let answered = false
    const reply = redis.command('PING').finally(() => (answered = true))
    // Nobody can wait for an answer that must not come; another round trip through the kernel is the measure.
    await promisify(execFile)('true')
    expect(answered).toBe(false)
    redis.resume()
    expect(await reply).toBe('PONG')
    await redis.pause()
    await redis.stop()
    expect(isAlive(redis.pid)).toBe(false)
  })

  test('counts commands, also those of scripts', async () => {
    const redis = await start()
    await redis.command('SET', 'a', 1)
    await redis.resetStats()
    await redis.command('GET', 'a')
    await redis.command('EVAL', "return redis.call('get', KEYS[1])", 1, 'a')
    const stats = await redis.commandStats()
    expect([stats.get('get'), stats.get('eval'), stats.get('set')]).toEqual([2, 1, undefined])
    expect(stats.get('config|resetstat')).toBe(1)
  })

  test('neither the server nor its folder outlives a parent that is killed', async () => {
    const source = `
      import { RedisServer } from '@holdfast/faults/harness'
      const redis = await RedisServer.start()
      const [, dir] = await redis.command('CONFIG', 'GET', 'dir')
      await redis.pause()
      console.log(JSON.stringify({ pid: redis.pid, dir }))
      process.kill(process.pid, 'SIGKILL')`
    const ended = promisify(execFile)(process.execPath, ['--input-type=module', '-e', source])
    const { stdout } = await ended.catch((error: unknown) => error as { stdout: string })
    const { pid, dir } = JSON.parse(stdout) as { pid: number; dir: string }
    await eventually(() => !isAlive(pid) && !existsSync(dir))
  })

  test('a parent that forgets its server can end', async () => {
    const source = `
      import { RedisServer } from '@holdfast/faults/harness'
      const redis = await RedisServer.start()
      console.log(redis.pid)`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source])
    await eventually(() => !isAlive(Number(stdout)))
  })
})
