import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { CommandDeadlines, type InFlight } from '../../src/runtime/command-deadlines.js'

const LIMIT_MS = 100

describe('deadlines of commands', () => {
  const clock = new ManualClock()
  const expired: string[] = []
  const deadlines = new CommandDeadlines(clock, LIMIT_MS, () => undefined)
  const send = (name: string, then: () => void = () => undefined): InFlight => {
    const command = {
      settled: false,
      dueAt: 0,
      expire: () => {
        expired.push(name)
        then()
      },
      abandon: () => undefined,
      onSettled: undefined,
    }
    deadlines.add(command)
    return command
  }

  it('have one timer, also when what expires is sent again at once, and none when nothing is under way', async () => {
    send('first', () => send('first again'))
    send('second', () => send('second again'))
    send('answered').settled = true
    await clock.advance(LIMIT_MS / 2)
    const last = send('last')
    await clock.advance(LIMIT_MS / 2)
    expect([expired, clock.pendingTimers]).toEqual([['first', 'second'], 1])
    last.settled = true
    await clock.advance(LIMIT_MS)
    expect([expired.slice(2), clock.pendingTimers]).toEqual([['first again', 'second again'], 0])
  })
})
