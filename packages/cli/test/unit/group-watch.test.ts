import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from '@jest/globals'
import { machineTime, sleptMs, type FromGuardian } from '../../src/guardian/messages.js'
import { canGroupRun, signalGroup } from '../../src/guardian/group.js'
import { GroupWatch } from '../../src/guardian/watch-group.js'

/** A group of two that tells that it was asked to end, and goes on. */
const STUBBORN =
  'trap "echo asked" TERM; (trap "" TERM; while :; do sleep 0.02; done) & echo ready; while :; do sleep 0.02; done'

let groups: ChildProcess[] = []
let watches: GroupWatch[] = []
afterEach(async () => {
  for (const group of groups) {
    if (group.exitCode === null && group.signalCode === null) {
      const ended = once(group, 'exit')
      process.kill(-group.pid!, 'SIGKILL')
      await ended
    }
  }
  watches.forEach((watch) => watch.take({ kind: 'done' }))
  groups = []
  watches = []
})

const begin = async () => {
  const group = spawn('sh', ['-c', STUBBORN], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  groups.push(group)
  let output = ''
  group.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await once(group.stdout, 'data')
  const told: FromGuardian[] = []
  let onEnd = (): void => undefined
  const ended = new Promise<void>((resolve) => (onEnd = resolve))
  const watch = new GroupWatch((message) => told.push(message), onEnd)
  watches.push(watch)
  return { group, watch, told, ended, output: () => output, exited: once(group, 'exit') }
}
const within = (termMs: number, killMs: number) => {
  const now = machineTime()
  return { termAt: now + termMs, killAt: now + killMs, slept: sleptMs() }
}

/** A group of one that has ended, and that its parent, of another group, does not ask about. */
const ended = async (): Promise<number> => {
  const parent = spawn('sh', ['-c', 'setsid sh -c "echo \\$\\$; sleep 0.1" & exec sleep 1000'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  groups.push(parent)
  const [text] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string]
  const group = Number(text)
  while (canGroupRun(group)) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return group
}

describe('the guardian of a process group', () => {
  it('asks the group to end at the one time, and ends it at the other, whether or not it listens', async () => {
    const { group, watch, told, output, exited } = await begin()
    const times = within(150, 1_200)
    watch.take({ kind: 'guard', group: group.pid!, ...times })
    const [, signal] = (await exited) as [null, string]
    const endedAt = machineTime()
    expect(signal).toBe('SIGKILL')
    expect(endedAt).toBeGreaterThanOrEqual(times.killAt)
    expect(output()).toContain('asked')
    expect(told).toEqual([
      { kind: 'guarding' },
      { kind: 'sent', signal: 'SIGTERM' },
      { kind: 'sent', signal: 'SIGKILL' },
    ])
  })

  it('goes by the times of the latest renewal', async () => {
    const { group, watch, told } = await begin()
    watch.take({ kind: 'guard', group: group.pid!, ...within(100, 200) })
    watch.take({ kind: 'trust', ...within(60_000, 60_000) })
    const again = await begin()
    again.watch.take({ kind: 'guard', group: again.group.pid!, ...within(200, 300) })
    // A group with the later times of the first is still there when one with those times has ended.
    await again.exited
    expect(group.exitCode ?? group.signalCode).toBeNull()
    expect(told).toEqual([{ kind: 'guarding' }])
  })

  it('alone, it keeps to the last times, and ends when the group is gone', async () => {
    const { group, watch, ended, exited } = await begin()
    watch.take({ kind: 'guard', group: group.pid!, ...within(100, 300) })
    watch.aloneFromNow()
    expect(((await exited) as [null, string])[1]).toBe('SIGKILL')
    await ended
  })

  it('gives a group that it has asked to end no more time', async () => {
    const { group, watch, exited, output } = await begin()
    const times = within(0, 1_000)
    watch.take({ kind: 'guard', group: group.pid!, ...times })
    watch.take({ kind: 'trust', ...within(60_000, 60_000) })
    expect(((await exited) as [null, string])[1]).toBe('SIGKILL')
    expect(machineTime()).toBeGreaterThanOrEqual(times.killAt)
    expect(output()).toContain('asked')
  })

  it('counts what the machine slept since the times were reckoned, also before it was told of them', async () => {
    const { group, watch, exited, told } = await begin()
    const times = within(60_000, 60_000)
    watch.take({ kind: 'guard', group: group.pid!, ...times, slept: times.slept - 120_000 })
    expect(((await exited) as [null, string])[1]).toBe('SIGKILL')
    expect(told).toContainEqual({ kind: 'sent', signal: 'SIGKILL' })
  })

  it('does not say that it has ended a group that had ended by itself', async () => {
    const told: FromGuardian[] = []
    const group = await ended()
    // It can be signalled: its process has ended, and nobody has asked about it.
    expect(signalGroup(group, 0)).toBe(true)
    await new Promise<void>((resolve) => {
      const watch = new GroupWatch((message) => told.push(message), resolve)
      watches.push(watch)
      watch.take({ kind: 'guard', group, ...within(0, 100) })
    })
    expect(told).toEqual([{ kind: 'guarding' }])
  })

  it('alone, it does not wait for processes that have ended and that nobody asks about', async () => {
    const group = await ended()
    await new Promise<void>((resolve) => {
      const watch = new GroupWatch(() => undefined, resolve)
      watches.push(watch)
      watch.take({ kind: 'guard', group, ...within(60_000, 60_000) })
      watch.aloneFromNow()
    })
  })

  it('alone and without a group it ends at once', async () => {
    const { watch, ended } = await begin()
    watch.aloneFromNow()
    await ended
  })
})
