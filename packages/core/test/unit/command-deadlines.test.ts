import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { CommandDeadlines, type InFlight } from '../../src/runtime/command-deadlines.js'

const LIMIT_MS = 100

describe('deadlines of commands', () => {
  const clock = new ManualClock()
  const expired: string[] = []
  let begun = 0
  // A turn of the event loop, in which connections are read: at once, or when a test ends it.
  let turns: (() => void)[] | null = null
  const afterTurn = (work: () => void): unknown => (turns ? turns.push(work) : work())
  const deadlines = new CommandDeadlines(
    {
      now: () => clock.now(),
      setTimer: (delayMs, fire) => clock.setTimer(delayMs, fire),
      afterTurn,
    },
    LIMIT_MS,
    () => undefined,
    () => (begun += 1),
  )
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

  it('rest when nothing is under way, with no timer, and report the next command, which has its full time', async () => {
    const before = begun
    const one = send('one')
    send('two')
    expect([deadlines.rest(), clock.pendingTimers]).toEqual([false, 1])
    one.settled = true
    expect(deadlines.rest()).toBe(false)
    await clock.advance(LIMIT_MS)
    expect(expired.splice(0).slice(-1)).toEqual(['two'])
    send('three').settled = true
    expect([deadlines.rest(), clock.pendingTimers, begun]).toEqual([true, 0, before + 2])
    await clock.advance(LIMIT_MS / 2)
    send('four')
    expect([clock.pendingTimers, begun]).toEqual([1, before + 3])
    await clock.advance(LIMIT_MS - 1)
    expect(expired).toEqual([])
    await clock.advance(1)
    expect(expired.splice(0)).toEqual(['four'])
  })

  it('after a pause of the process, read first what has arrived, and give the rest the time of the pause', async () => {
    turns = []
    const read = send('read')
    const slow = send('slow')
    send('silent')
    clock.pass(LIMIT_MS * 1.5)
    await clock.advance(0)
    read.settled = true
    turns.splice(0).forEach((work) => work())
    // node-redis may have written them only now: it does so in a turn of its own.
    await clock.advance(LIMIT_MS / 2 - 1)
    expect([expired.splice(0), turns.length]).toEqual([[], 0])
    // Late again: once is enough, and what has arrived is read first here, too.
    clock.pass(LIMIT_MS)
    await clock.advance(0)
    slow.settled = true
    turns.splice(0).forEach((work) => work())
    expect(expired.splice(0)).toEqual(['silent'])
  })

  it('give nobody more than the whole time again, however long the pause was', async () => {
    turns = null
    send('silent')
    clock.pass(100 * LIMIT_MS)
    await clock.advance(LIMIT_MS - 1)
    expect(expired).toEqual([])
    await clock.advance(1)
    expect(expired.splice(0)).toEqual(['silent'])
  })

  it('end nothing after they are closed, in the middle of such a turn either', async () => {
    turns = []
    const command = send('closed')
    let abandoned = 0
    command.abandon = () => (abandoned += 1)
    await clock.advance(LIMIT_MS)
    deadlines.close()
    turns.splice(0).forEach((work) => work())
    expect([expired, abandoned]).toEqual([[], 1])
  })
})
