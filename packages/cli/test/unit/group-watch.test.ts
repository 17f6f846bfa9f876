import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from '@jest/globals'
import { machineTime, type FromGuardian } from '../../src/guardian/messages.js'
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
  return { termAt: now + termMs, killAt: now + killMs }
}

describe('the guardian of a process group', () => {
  it('asks the group to end at the one time, and ends it at the other, whether or not it listens', async () => {
    const { group, watch, told, output, exited } = await begin()
    const times = within(150, 400)
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

  it('alone and without a group it ends at once', async () => {
    const { watch, ended } = await begin()
    watch.aloneFromNow()
    await ended
  })
})
