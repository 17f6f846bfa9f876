import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LockClient } from '@holdfast/core'
import { livingInGroup, processes, RedisServer, stateOf } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { CommandLine, endAll, PLANTED, PROGRAM, until } from './support/command-line.js'

const URL = process.env.HOLDFAST_TEST_REDIS_URL ?? 'redis://127.0.0.1:6379'
const LEASE_MS = 3_000

let redis: Redis
let locks: LockClient
let name: string
let count = 0
beforeEach(async () => {
  redis = new Redis(URL)
  locks = await LockClient.connect(redis, { bareCalls: 'allow' })
  count += 1
  name = `cli-run:${process.pid}:${count}`
})
afterEach(async () => {
  await endAll()
  await locks.close({ graceMs: 0 })
  const keys = await redis.keys(`*${name}*`)
  if (keys.length > 0) await redis.del(...keys)
  redis.disconnect()
})

/** On a server of its own, which may stand still at the end. */
const onServer = async (work: (server: RedisServer) => Promise<void>): Promise<void> => {
  const server = await RedisServer.start()
  try {
    await work(server)
  } finally {
    server.resume()
    await server.stop()
  }
}
const run = (...args: string[]) => CommandLine.run(URL, ['run', name, ...args])
const start = (...args: string[]) => CommandLine.start(URL, ['run', name, ...args])
/** A command that tells its process group, and goes on until it is ended. */
const ENDLESS = ['--', 'sh', '-c', 'echo group $$; while :; do sleep 0.05; done']
/** One that ignores SIGTERM. */
const DEAF = ['--', 'sh', '-c', 'trap "echo asked" TERM; echo group $$; while :; do sleep 0.02; done']
/** The group ends, and until it has ended the lock is there, however late either is looked at (I1). */
const endsUnderLock = async (group: number): Promise<void> => {
  for (let held = 1; livingInGroup(group).length > 0; held = await redis.hlen(name)) expect(held).toBe(1)
}
const groupOf = async (cli: CommandLine): Promise<number> => Number((await cli.printed(/group (\d+)/))[1])
/** A process that waits in Redis, or listens there, has more of them. */
const tracesOfName = async (): Promise<number> =>
  (await redis.keys(`*${name}*`)).length + ((await redis.pubsub('CHANNELS', `*${name}*`)) as string[]).length
/** The command line of a process; '' for one that has ended since it was listed. */
const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
const guardianOf = (cli: CommandLine): number | undefined =>
  processes().find(({ pid, parent }) => parent === cli.pid && commandOf(pid).includes('guardian.mjs'))?.pid

describe('holdfast run', () => {
  it('exits as the command does, which has the name, the owner and a token in its environment', async () => {
    const told = 'echo $HOLDFAST_LOCK $HOLDFAST_OWNER $HOLDFAST_TOKEN; exit 7'
    const [first, second] = [await run('--', 'sh', '-c', told), await run('--', 'sh', '-c', told)]
    expect([first.code, second.code]).toEqual([7, 7])
    const [[at, owner, token], [, , next]] = [first, second].map(({ stdout }) =>
      stdout.trim().split(' '),
    ) as [string[], string[]]
    expect(at).toBe(name)
    expect(owner).toMatch(/~[\w-]{21}:\d+$/)
    expect(Number(next)).toBeGreaterThan(Number(token))
    expect(await locks.getLock(name).isLocked()).toBe(false)
  })

  it('tells how a command failed to start as a shell does', async () => {
    expect((await run('--', 'no-such-command-anywhere')).code).toBe(127)
    expect((await run('--', '/etc/passwd')).code).toBe(126)
    expect((await run('--', 'sh', '-c', 'kill -9 $$')).code).toBe(137)
  })

  it('holds the lock while the command runs, and not after it', async () => {
    const cli = start('--', 'sh', '-c', 'echo group $$; read line; exit 3')
    await cli.printed(/group/)
    // Its stdin is empty: the lock was held before the command could end.
    expect(await cli.ended).toBe(3)
    expect(await locks.getLock(name).isLocked()).toBe(false)
  })

  it('--try and --wait: 75 and the holder, or the code of -E, and the command does not run', async () => {
    await locks.getLock(name).acquire()
    const refused = await run('--try', '--', 'echo', 'ran')
    expect(refused).toMatchObject({ code: 75, stdout: '' })
    expect(refused.stderr).toContain('not acquired in')
    expect((await run('--wait', '500ms', '-E', '0', '--', 'echo', 'ran')).code).toBe(0)
    const told = await run('--try', '--json', '--', 'echo', 'ran')
    expect(JSON.parse(told.stderr)).toMatchObject({ event: 'conflict', name, holder: { holds: 1 } })
  })

  it.each([
    ['--read', '--read', true],
    ['--read', '--write', false],
    ['--write', '--write', false],
    ['--fair', '--fair', false],
    ['--permits=2', '--permits=2', true],
    ['--permits=1', '--permits=1', false],
  ])('%s beside %s', async (one, other, together) => {
    const first = start(one, ...ENDLESS)
    await groupOf(first)
    expect((await run(other, '--try', '--', 'true')).code).toBe(together ? 0 : 75)
    first.child.kill('SIGTERM')
    expect(await first.ended).toBe(143)
    expect((await run(other, '--try', '--', 'true')).code).toBe(0)
  })

  it.each([[], ['--fair'], ['--write']])(
    'behind a holder whose release grants it the lock, the command runs to its own end (%j)',
    async (...options) => {
      const first = start(...options, ...ENDLESS)
      await groupOf(first)
      const alone = await tracesOfName()
      const second = start(...options, '--', 'sh', '-c', 'sleep 0.3; exit 5')
      await until(async () => (await tracesOfName()) > alone)
      first.child.kill('SIGTERM')
      expect(await second.ended).toBe(5)
      expect(second.stderr).not.toContain('lost')
    },
  )

  it('passes signals on to the whole group, and tells what the command made of them', async () => {
    const command = 'trap "echo told; kill $other; exit 9" TERM; sleep 100 & other=$!; echo group $$; wait'
    const cli = start('--', 'sh', '-c', command)
    const group = await groupOf(cli)
    cli.child.kill('SIGTERM')
    expect(await cli.ended).toBe(9)
    expect(livingInGroup(group)).toEqual([])
  })

  it('a signal ends a wait for the lock', async () => {
    await locks.getLock(name).acquire()
    const cli = start('--', 'echo', 'ran')
    await until(async () => Number((await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`))[1]) > 0)
    cli.child.kill('SIGINT')
    expect(await cli.ended).toBe(130)
    expect(cli.stdout).toBe('')
  })

  it('ends what the command leaves behind in its group before it releases the lock', async () => {
    const cli = start('--grace', '100ms', '--', 'sh', '-c', 'trap "" TERM; sleep 100 & echo group $$')
    const group = await groupOf(cli)
    expect(await cli.ended).toBe(0)
    expect(livingInGroup(group)).toEqual([])
    expect(await locks.getLock(name).isLocked()).toBe(false)
  })

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'a command line with %s: the group is ended before anybody else can have the lock (I1)',
    async (signal) => {
      const cli = start('--lease', `${LEASE_MS}ms`, '--grace', '200ms', ...ENDLESS)
      const group = await groupOf(cli)
      cli.child.kill(signal)
      await endsUnderLock(group)
      cli.child.kill('SIGCONT')
      expect(await cli.ended).toBe(signal === 'SIGKILL' ? signal : 76)
      // No zombie of its own. One whose parent was killed belongs to the first process of the machine.
      expect(stateOf(group)?.parent).not.toBe(cli.pid)
      await until(() => guardianOf(cli) === undefined)
    },
  )

  it('a command that ignores SIGTERM has until its grace ends', async () => {
    const cli = start('--lease', `${LEASE_MS}ms`, '--grace', '1s', ...DEAF)
    const group = await groupOf(cli)
    cli.child.kill('SIGSTOP')
    await endsUnderLock(group)
    cli.child.kill('SIGCONT')
    expect(await cli.ended).toBe(76)
    expect(cli.stdout).toContain('asked')
  })

  it('a command that does not listen gets no more time when renewals succeed again', () =>
    onServer(async (server) => {
      const options = ['--lease', '3s', '--grace', '1s']
      const cli = CommandLine.start(server.url, ['run', name, ...options, ...DEAF])
      const group = await groupOf(cli)
      await server.pause()
      await cli.printed(/asked/)
      server.resume()
      expect(await cli.ended).toBe(76)
      expect(livingInGroup(group)).toEqual([])
    }))

  it('a command that has ended by itself is not called lost because Redis is away at its end', () =>
    onServer(async (server) => {
      // The lease ends while the release waits for an answer.
      const options = ['--timeout', '3s', 'run', name, '--lease', '3s', '--grace', '100ms']
      const command = ['--', 'sh', '-c', 'trap "exit 4" USR2; echo group $$; while :; do sleep 0.02; done']
      const cli = CommandLine.start(server.url, [...options, ...command])
      await groupOf(cli)
      await server.pause()
      cli.child.kill('SIGUSR2')
      expect(await cli.ended).toBe(4)
      expect(cli.stderr).toContain('the release is not confirmed')
    }))

  it('does not wait for ever for ended processes that nobody asks about, as in a container', async () => {
    // The command line inherits what the command leaves behind, as the first process of a container does.
    const prctl = process.arch === 'x64' ? 157 : 167
    const inherits = `syscall(${prctl}, 36, 1, 0, 0, 0) == 0 or die; exec @ARGV`
    const args = [process.execPath, PROGRAM, '--url', URL, 'run', name, '--grace', '30s', '--lease', '90s']
    const command = ['--', 'sh', '-c', '(sleep 0.1) & exit 6']
    const child = spawn('perl', ['-e', inherits, ...args, ...command], {
      env: { ...process.env, ...PLANTED },
      stdio: 'ignore',
    })
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).toBe(6)
    expect(await locks.getLock(name).isLocked()).toBe(false)
  })

  it('goes on when nobody reads what it says, and its command too', async () => {
    const cli = start('--json', '--', 'sh', '-c', 'sleep 0.2; exit 8')
    cli.child.stderr!.destroy()
    expect(await cli.ended).toBe(8)
  })

  it('a signal ends it while it connects', async () => {
    const cli = CommandLine.start('redis://127.0.0.1:1', ['--timeout', '60s', 'run', name, '--', 'true'])
    await until(() => guardianOf(cli) !== undefined)
    cli.child.kill('SIGTERM')
    expect(await cli.ended).toBe(143)
  })

  it('a guardian that is killed is replaced, and the next one ends the group', async () => {
    const cli = start('--lease', `${LEASE_MS}ms`, ...ENDLESS)
    const group = await groupOf(cli)
    const first = guardianOf(cli)!
    process.kill(first, 'SIGKILL')
    await until(() => ![undefined, first].includes(guardianOf(cli)))
    expect(livingInGroup(group).length).toBeGreaterThan(0)
    // Told of the group: it has signalled nothing, and does when it is alone.
    await until(() => livingInGroup(group).length > 0)
    const before = await redis.pttl(name)
    await until(async () => (await redis.pttl(name)) > before)
    cli.child.kill('SIGKILL')
    await endsUnderLock(group)
  })

  it('a guardian that stands still keeps nothing up: the command line ends the group itself', async () => {
    const cli = start('--lease', `${LEASE_MS}ms`, ...ENDLESS)
    const group = await groupOf(cli)
    process.kill(guardianOf(cli)!, 'SIGSTOP')
    await redis.del(name)
    expect(await cli.ended).toBe(76)
    expect(livingInGroup(group)).toEqual([])
  })

  it('a forced release ends the command at once, with 76 or the code that was wanted', async () => {
    const cli = start('--lost-exit-code', '42', ...ENDLESS)
    const group = await groupOf(cli)
    expect(await locks.getLock(name).forceUnlock()).toBe(true)
    expect(await cli.ended).toBe(42)
    expect(cli.stderr).toContain('released by force')
    expect(livingInGroup(group)).toEqual([])
  })

  it.each([
    [['--lease', '100ms', '--', 'true'], '--lease'],
    [['--lease', '3s', '--grace', '2s', '--', 'true'], '--grace'],
    [['--wait', 'soon', '--', 'true'], 'duration'],
    [['--try', '--wait', '1s', '--', 'true'], 'cannot be used with'],
    [['-E', '256', '--', 'true'], '0 to 255'],
    [['--permits', '0', '--', 'true'], 'at least 1'],
    [[], 'missing required argument'],
    [['other', '--', 'true'], 'got 2 names'],
  ])('%j is a mistake: 64, and it says which', async (args, says) => {
    const { code, stderr } = await run(...args)
    expect(code).toBe(64)
    expect(stderr).toContain(says)
  })

  it('without Redis: 69, and the command does not run', async () => {
    const nowhere = ['--timeout', '300ms', 'run', name, '--', 'echo', 'ran']
    expect(await CommandLine.run('redis://127.0.0.1:1', nowhere)).toMatchObject({ code: 69, stdout: '' })
  })

  it('where something else has the name: 65', async () => {
    await redis.set(name, 'a string')
    expect((await run('--', 'true')).code).toBe(65)
  })
})
