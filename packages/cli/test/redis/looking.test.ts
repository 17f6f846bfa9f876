import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LockClient } from '@holdfast/core'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { CommandLine, endAll, PROGRAM, until } from './support/command-line.js'
import { holdfast } from './support/in-process.js'

const URL = process.env.HOLDFAST_TEST_REDIS_URL ?? 'redis://127.0.0.1:6379'

let redis: Redis
let one: LockClient
let other: LockClient
let prefix: string
let count = 0
beforeEach(async () => {
  redis = new Redis(URL)
  const options = { bareCalls: 'allow', describeHolds: true } as const
  one = await LockClient.connect(URL, { ...options, clientName: 'one' })
  other = await LockClient.connect(URL, { ...options, clientName: 'other' })
  one.on('lost', () => undefined)
  count += 1
  prefix = `cli-look:${process.pid}:${count}:`
})
afterEach(async () => {
  await endAll()
  await Promise.all([one.close({ graceMs: 0 }), other.close({ graceMs: 0 })])
  const keys = await redis.keys(`*${prefix}*`)
  if (keys.length > 0) await redis.del(...keys)
  redis.disconnect()
})

const cli = (args: readonly string[], surroundings = {}) => holdfast(['--url', URL, ...args], surroundings)
const json = async (args: readonly string[]) => JSON.parse((await cli([...args, '--json'])).stdout) as unknown
const name = (suffix: string) => prefix + suffix
const valuesIn = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('holdfast ls', () => {
  it('lists held locks of every kind, and marks those of Redisson and the strings of other libraries', async () => {
    await one.getLock(name('plain')).acquire()
    await one.getReadWriteLock(name('read')).readLock().acquire()
    await other.getReadWriteLock(name('read')).readLock().acquire()
    await redis.hset(name('java'), 'e4d3f1f6-6e5b-4c4b-9c5a-0f6a2f1f9a11:42', '2')
    await redis.pexpire(name('java'), 20_000)
    await redis.set(name('redlock'), '4f3a9c1e77aa4f3a9c1e77aa', 'PX', 20_000)
    const { code, stdout } = await cli(['ls', `${prefix}*`])
    expect(code).toBe(0)
    const rows = stdout.trimEnd().split('\n')
    expect(rows[0]).toMatch(/^NAME +KIND +HOLDER +HELD +LEASE +WAIT$/)
    expect(rows.slice(1).map((row) => row.replaceAll(/ {2,}/g, ' | '))).toEqual([
      expect.stringMatching(/java \| lock \(Redisson\) \| e4d3f1f6\S* \| \? \| (20|1\d(\.\d)?) s \| 0$/),
      expect.stringMatching(/plain \| lock \| one \| \d+(\.\d)? m?s \| (30|2\d(\.\d)?) s \| 0$/),
      expect.stringMatching(/read \| read lock \| (one|other) and 1 more \| /),
      expect.stringMatching(/redlock \| lock \(another library\) \| string "4f3a\S* \| /),
    ])
    expect(await json(['ls', `${prefix}java`])).toMatchObject({
      locks: [
        { name: name('java'), origin: 'redisson', kind: 'lock', holders: [{ count: 2, client: null }] },
      ],
      complete: true,
    })
  })

  it('--limit ends the search, and says so', async () => {
    for (const each of ['a', 'b', 'c']) await one.getLock(name(each)).acquire()
    expect(await json(['ls', `${prefix}*`, '--limit', '2'])).toMatchObject({ complete: false })
    expect((await cli(['ls', `${prefix}*`, '--limit', '2'])).stderr).toContain('--limit')
  })

  it('shows hostile names without obeying them, and is coloured on a terminal alone', async () => {
    await one.getLock(name('\u001B[2Jclear\u202Eevil\n')).acquire()
    const { stdout } = await cli(['ls', `${prefix}*`])
    // eslint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u202E]/)
    expect(stdout).toContain(String.raw`\u{1b}[2Jclear\u{202e}evil\u{a}`)
    expect((await cli(['ls', `${prefix}*`], { isTTY: true })).stdout).toContain('\u001B[2m')
    expect((await cli(['ls', `${prefix}*`], { isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain(
      '\u001B[2m',
    )
  })
})

describe('holdfast who', () => {
  it('tells the holder, since when, what is left, and who waits, in order', async () => {
    const hold = await one.getFairLock(name('a')).acquire()
    const waits = [other.getFairLock(name('a')).acquire()]
    await until(async () => (await redis.llen(`redisson_lock_queue:{${name('a')}}`)) === 1)
    waits.push(one.getFairLock(name('a')).acquire())
    await until(async () => (await redis.llen(`redisson_lock_queue:{${name('a')}}`)) === 2)
    const { code, stdout } = await cli(['who', name('a')])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /fair lock, lease left .* s\n {2}held by one, for \d+(\.\d)? m?s\n {4}--holder 'one~/,
    )
    expect(stdout).toMatch(/ 1\. other waits, for .*\n {2}2\. one waits, for /)
    expect(await json(['who', name('a')])).toMatchObject({
      kind: 'fair',
      holders: [{ holder: hold.owner, client: 'one', count: 1 }],
      waiting: 2,
      waiters: [{ client: 'other' }, { client: 'one' }],
    })
    await hold.release()
    for (const wait of waits) await (await wait).release()
  })

  it('holdfast who of a free lock: 1', async () => {
    expect(await cli(['who', name('free')])).toMatchObject({ code: 1, stdout: `${name('free')} is free\n` })
    expect(await cli(['who', name('free'), '--json'])).toMatchObject({ code: 1, stdout: 'null\n' })
  })
})

describe('holdfast break', () => {
  it('asks, and takes the lock from the holder that it named', async () => {
    const hold = await one.getLock(name('a')).acquire()
    const declined = await cli(['break', name('a')], { typed: 'n' })
    expect(declined.code).toBe(3)
    expect(declined.stderr).toContain('held by one, by force?')
    expect(hold.signal.aborted).toBe(false)
    expect((await cli(['break', name('a')])).code).toBe(3)
    expect(await cli(['break', name('a')], { typed: 'y' })).toMatchObject({ code: 0 })
    await until(() => hold.signal.aborted)
    expect(hold.signal.reason).toMatchObject({ reason: 'forced' })
    expect((await cli(['break', name('a'), '--yes'])).code).toBe(1)
  })

  it('is not confirmed by Ctrl-D, and ended by Ctrl-C', async () => {
    const hold = await one.getLock(name('a')).acquire()
    expect((await cli(['break', name('a')], { typed: '\u0004', isTTY: true })).code).toBe(3)
    expect((await cli(['break', name('a')], { typed: '\u0003', isTTY: true })).code).toBe(130)
    expect((await cli(['break', name('a')], { typed: null })).code).toBe(3)
    await hold.verify()
    await hold.release()
  })

  it('shows a hostile holder without obeying it, and takes what it has shown', async () => {
    const owner = "evil\u001B[2J'; touch owned; '~0123456789abcdefghijk:1"
    const shown = String.raw`evil\u{1b}[2J'; touch owned; '~0123456789abcdefghijk:1`
    await redis.hset(name('a'), owner, '1')
    await redis.pexpire(name('a'), 60_000)
    const said = [
      await cli(['who', name('a')]),
      await cli(['break', name('a'), '--holder', 'nobody', '--yes']),
      await cli(['run', '--try', name('a'), '--', 'true']),
      await cli(['break', name('a'), '--holder', 'nobody', '--yes', '--json']),
    ]
    for (const { stdout, stderr } of said) {
      // eslint-disable-next-line no-control-regex
      expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000B-\u001F]/)
    }
    const [, option] = /--holder (.*)\n/.exec(said[0]!.stdout)!
    expect(execFileSync('sh', ['-c', `printf %s ${option}`], { encoding: 'utf8' })).toBe(shown)
    expect((await cli(['break', name('a'), '--holder', shown, '--yes'])).code).toBe(0)
    expect(await redis.exists(name('a'))).toBe(0)
  })

  it('--holder: another holder keeps the lock, 75', async () => {
    const first = await one.getLock(name('a')).acquire()
    await first.release()
    const second = await other.getLock(name('a')).acquire()
    const refused = await cli(['break', name('a'), '--holder', first.owner, '--yes'])
    expect(refused).toMatchObject({ code: 75 })
    expect(refused.stdout).toContain('but by other')
    await second.verify()
    expect((await cli(['break', name('a'), '--holder', second.owner, '--yes', '--json'])).stdout).toContain(
      '"released"',
    )
    await until(() => second.signal.aborted)
  })

  it('holdfast break of several readers, only the one that is named', async () => {
    const [mine, theirs] = [
      await one.getReadWriteLock(name('a')).readLock().acquire(),
      await other.getReadWriteLock(name('a')).readLock().acquire(),
    ]
    expect((await cli(['break', name('a'), '--yes'])).code).toBe(64)
    expect((await cli(['break', name('a'), '--holder', mine.owner, '--yes'])).code).toBe(0)
    await until(() => mine.signal.aborted)
    await theirs.verify()
    await theirs.release()
  })

  it('holdfast break of a fair lock with waiters, the first in the queue gets it', async () => {
    const hold = await one.getFairLock(name('a')).acquire()
    const wait = other.getFairLock(name('a')).acquire()
    await until(async () => (await redis.llen(`redisson_lock_queue:{${name('a')}}`)) === 1)
    expect((await cli(['break', name('a'), '--holder', hold.owner, '-y'])).code).toBe(0)
    await (await wait).release()
  })

  it('never touches the string of another library: 65', async () => {
    await redis.set(name('a'), '4f3a9c1e77aa4f3a9c1e77aa', 'PX', 20_000)
    const { code, stderr } = await cli(['break', name('a'), '--yes'])
    expect(code).toBe(65)
    expect(stderr).toContain('Only that library')
    expect(await redis.exists(name('a'))).toBe(1)
  })
})

describe('holdfast watch', () => {
  const watch = (every: string) => CommandLine.start(URL, ['watch', name('a'), '--every', every, '--json'])
  /** All that it has told, once it has ended at a word. */
  const eventsOf = async (watching: CommandLine) => {
    watching.child.kill('SIGINT')
    expect(await watching.ended).toBe(0)
    return valuesIn(watching.stdout)
  }

  it('prints each hand-off of a lock, with who had it before and who has it', async () => {
    const [mine, theirs] = [one.getFairLock(name('a')), other.getFairLock(name('a'))]
    const first = await mine.acquire()
    const watching = watch('20ms')
    await watching.printed(/"held"/)
    const wait = theirs.acquire()
    await watching.printed(/"waits"/)
    await first.release()
    const second = await wait
    await watching.printed(/"handed-over"/)
    await second.release()
    await watching.printed(/"freed"/)
    const events = await eventsOf(watching)
    expect(events.map(({ event }) => event)).toEqual(['held', 'waits', 'handed-over', 'freed'])
    expect(events[2]).toMatchObject({
      name: name('a'),
      from: { client: 'one', holder: first.owner },
      holder: { client: 'other' },
      token: null,
      missed: 0,
    })
    expect(events[3]).toMatchObject({ from: { client: 'other' } })
  })

  it('counts by the tokens of a fenced lock what begins and ends between two looks', async () => {
    const lock = one.getFencedLock(name('a'))
    await lock.withLock(() => undefined)
    const held = await lock.acquire()
    const watching = watch('800ms')
    await watching.printed(/"held"/)
    await held.release()
    for (let i = 0; i < 3; i += 1) await lock.withLock(() => undefined)
    const last = await lock.acquire()
    await watching.printed(new RegExp(`"token":"${last.token}"`))
    const events = await eventsOf(watching)
    expect([events[0], events.at(-1)]).toMatchObject([
      { event: 'held', token: held.token },
      { token: last.token },
    ])
    // One look has all of it, unless the machine stood still meanwhile.
    const later = events.slice(1).filter(({ token }) => typeof token === 'string')
    const missed = later.map((each) => Number(each['missed']))
    expect(Math.max(...missed)).toBeGreaterThan(0)
    expect(later.length + missed.reduce((sum, each) => sum + each)).toBe(4)
    await last.release()
  })

  it('begins with what it finds', async () => {
    expect((await cli(['watch', name('a'), '--for', '10ms'])).stdout).toMatch(
      /\d\d:\d\d:\d\d\.\d{3} {2}.*is free\n$/,
    )
    await one.getLock(name('a')).acquire()
    expect((await cli(['watch', name('a'), '--for', '10ms'])).stdout).toMatch(/one has it\n$/)
  })
})

describe('while Redis is away', () => {
  it.each(['top', 'watch'])('%s says so, goes on, and shows what it finds afterwards', async (command) => {
    const server = await RedisServer.start()
    const [earlier, later] = [
      await LockClient.connect(server.url, { bareCalls: 'allow', clientName: 'earlier' }),
      await LockClient.connect(server.url, { bareCalls: 'allow', clientName: 'later' }),
    ]
    const hold = await earlier.getLock('a').acquire()
    try {
      const args = [command, ...(command === 'watch' ? ['a'] : []), '--every', '50ms', '--json']
      const cli = CommandLine.start(server.url, ['--timeout', '1500ms', ...args])
      await cli.printed(/"client":"earlier"/)
      await server.pause()
      await cli.printed(/"event":"trouble"|"trouble":"/)
      server.resume()
      await hold.release()
      await later.getLock('a').acquire()
      await cli.printed(/"client":"later"/)
      cli.child.kill('SIGINT')
      expect(await cli.ended).toBe(0)
    } finally {
      server.resume()
      await Promise.all([earlier.close({ graceMs: 0 }), later.close({ graceMs: 0 })])
      await server.stop()
    }
  })
})

describe('what ends it', () => {
  it('a reader that goes away: as a signal of a broken pipe would', () => {
    const command = `'${process.execPath}' '${PROGRAM}' --url '${URL}' top --every 20ms --json`
    const script = `set -o pipefail; ${command} | head -n 1 >/dev/null; echo $?`
    const said = execFileSync('bash', ['-c', script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    expect(said).toBe('141\n')
  })

  it.each(['who', 'ls', 'watch', 'doctor', 'break'])('Ctrl-C while %s connects', async (command) => {
    const args = ['--timeout', '60s', command, ...(['ls', 'doctor'].includes(command) ? [] : [name('a')])]
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const connecting = CommandLine.start(`redis://127.0.0.1:${port}`, args)
    const [socket] = (await once(silent, 'connection')) as [Socket]
    connecting.child.kill('SIGINT')
    expect(await connecting.ended).toBe(130)
    socket.destroy()
    silent.close()
  })

  it('a mistake in the arguments is told as JSON, if that is wanted', async () => {
    for (const args of [
      ['ls', '--limit', '0', '--json'],
      ['--json', 'nonsense'],
      ['--json', 'who'],
    ]) {
      const { code, stderr } = await cli(args)
      expect(code).toBe(64)
      const [line, ...others] = stderr.trimEnd().split('\n')
      expect(JSON.parse(line!)).toMatchObject({
        event: 'error',
        exitCode: 64,
        message: expect.any(String) as unknown,
      })
      expect(others).toEqual([])
    }
    expect((await cli(['run', '--lease', '1ms', name('a'), '--', 'echo', '--json'])).stderr).toMatch(
      /^holdfast: /,
    )
  })
})

describe('holdfast top', () => {
  it('ranks by waiters, by how long it is held, by how long is waited; under load in a terminal', async () => {
    await one.getFairLock(name('busy')).acquire()
    await one.getLock(name('calm')).acquire()
    const enough = new AbortController()
    const waits = Array.from({ length: 5 }, () =>
      other.getFairLock(name('busy')).acquire({ signal: enough.signal }),
    )
    let isOver = false
    const load = Array.from({ length: 20 }, async (_, i) => {
      while (!isOver) await other.getLock(name(`load:${i % 5}`)).withLock(() => undefined)
    })
    await until(async () => (await redis.llen(`redisson_lock_queue:{${name('busy')}}`)) === 5)
    const ranking = CommandLine.start(URL, ['top', `${prefix}*`, '--every', '100ms', '--json'])
    const lastOf = () =>
      JSON.parse(ranking.stdout.split('\n').at(-2) ?? '{}') as {
        complete?: true
        contended: { name: string; waiting: number }[]
        longestHeld: { name: string }[]
        longestWaits: { name: string; longestWaitMs: number }[]
      }
    // The search goes through the keys of all others, too.
    await until(() => lastOf().complete === true)
    const drawn = (await cli(['top', `${prefix}*`, '--every', '100ms', '--for', '2s'], { isTTY: true }))
      .stdout
    isOver = true
    await Promise.all(load)
    const last = lastOf()
    expect(last.contended[0]).toMatchObject({ name: name('busy'), waiting: 5 })
    expect(last.longestHeld.slice(0, 2).map((each) => each.name)).toEqual([name('busy'), name('calm')])
    expect(last.longestWaits[0]).toMatchObject({ name: name('busy') })
    // The screen apart, drawn from its start each time, and restored.
    expect(drawn.startsWith('\u001B[?1049h')).toBe(true)
    expect(drawn.endsWith('\u001B[?25h\u001B[?1049l')).toBe(true)
    expect(drawn.split('\u001B[H').length).toBeGreaterThan(2)
    expect(drawn).toContain('Most contended')
    enough.abort()
    await Promise.allSettled(waits)
  })
})

describe('in a terminal', () => {
  /** On a pseudo-terminal of util-linux's script, where somebody presses Ctrl-C when it has shown enough. */
  const onTerminal = async (
    args: readonly string[],
    isEnough: (shown: string) => boolean,
  ): Promise<string> => {
    const words = [process.execPath, PROGRAM, '--url', URL, ...args].map((word) => `'${word}'`).join(' ')
    const env = { ...process.env, TERM: 'xterm' }
    const child = spawn('script', ['-qec', words, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    let shown = ''
    let isOver = false
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      if (!isOver && isEnough(shown)) {
        isOver = true
        child.stdin.write('\u0003')
      }
    })
    await once(child, 'close')
    // A terminal shows what is typed.
    return shown.replace('^C', '')
  }

  it('watch prints under load whatever it sees, coloured, one change a line', async () => {
    let isOver = false
    const lock = (client: LockClient) => client.getFencedLock(name('busy'))
    const load = [one, other, one].map(async (client) => {
      while (!isOver) await lock(client).withLock(() => sleep(3))
    })
    const marks = [/ → .*, after .*, token \d+/, /; \d+ more in between/]
    const stdout = await onTerminal(
      ['watch', name('busy'), '--every', '20ms'],
      (shown) => shown.split('\r\n').length > 7 && marks.every((mark) => mark.test(shown)),
    )
    isOver = true
    await Promise.all(load)
    const lines = stdout.trimEnd().split('\r\n')
    // eslint-disable-next-line no-control-regex
    const coloured = /^\u001B\[2m\d\d:\d\d:\d\d\.\d{3}\u001B\[22m {2}\u001B\[33m(one|other)\u001B\[39m /
    // Between two holders the first look finds nobody.
    const held = lines[0]?.endsWith(' is free') ? lines.slice(1) : lines
    for (const line of held) expect(line).toMatch(coloured)
  })

  it('top takes the screen, and restores it', async () => {
    const hold = await one.getLock(name('a')).acquire()
    const stdout = await onTerminal(['top', `${prefix}*`, '--every', '50ms'], (shown) =>
      shown.includes(name('a')),
    )
    expect(stdout.startsWith('\u001B[?1049h\u001B[?25l')).toBe(true)
    expect(stdout.endsWith('\u001B[?25h\u001B[?1049l')).toBe(true)
    expect(stdout).toContain('Longest held')
    await hold.release()
  })
})
