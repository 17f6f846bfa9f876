import { describe, expect, it } from '@jest/globals'
import type { LockObserver } from '@holdfast/core/observe'
import { Collector } from '../../src/collect/collector.js'
import type { BoardReply, BoardRequest, Sink } from '../../src/http/exchange.js'
import { LockBreaker } from '../../src/breaking.js'
import { settingsOf, type BoardOptions } from '../../src/options.js'
import { Routes } from '../../src/routes.js'

/** A board on a clock of the test, that asks nothing of Redis. */
const boardOf = (options: BoardOptions = {}) => {
  const settings = settingsOf(options)
  const runtime = { now: () => 0, wallNow: () => 0, setTimer: () => ({ cancel: () => undefined }) }
  const observer = {
    runtime,
    listen: () => Promise.resolve(() => Promise.resolve()),
    keysOf: () => Promise.resolve([]),
  } as unknown as LockObserver
  const repeated: { readonly ms: number; readonly work: () => void; isOver: boolean }[] = []
  const clock = {
    every: (ms: number, work: () => void) => {
      const timer = { ms, work, isOver: false }
      repeated.push(timer)
      return () => {
        timer.isOver = true
      }
    },
  }
  const collector = new Collector(observer, settings)
  const routes = new Routes({
    settings,
    observer,
    collector,
    breaker: Object.create(LockBreaker.prototype) as LockBreaker,
    clock,
  })
  return {
    routes,
    pass: (ms: number) =>
      repeated.filter((each) => !each.isOver && each.ms === ms).forEach(({ work }) => work()),
  }
}

const request = (query: string): BoardRequest => ({
  ...{ method: 'GET', path: '/live', query: new URLSearchParams(query), original: {} },
  header: () => undefined,
})

const begin = ({ body }: BoardReply) => {
  const sink = { ended: false, text: '' }
  const parts: Sink = {
    write: (text) => (sink.text += text),
    isFull: () => false,
    end: () => (sink.ended = true),
  }
  if (typeof body !== 'function') throw new Error('it is no stream')
  return Object.assign(sink, { leave: body(parts) })
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('streams of the board', () => {
  it('asks again who may look, and ends the stream of one who may not any more', async () => {
    let isAllowed = true
    const asked: unknown[] = []
    const { routes, pass } = boardOf({
      authorize: (_, action) => {
        asked.push(action)
        return isAllowed
      },
    })
    const stream = begin(await routes.respond(request('')))
    pass(30_000)
    await settled()
    expect([asked.length, stream.ended]).toEqual([2, false])
    isAllowed = false
    pass(30_000)
    await settled()
    expect([asked.length, stream.ended]).toEqual([3, true])
    pass(30_000)
    await settled()
    expect(asked.length).toBe(3)
  })

  it('follows at most 50 locks, for at most 200 pages, and no lock without a name', async () => {
    const { routes } = boardOf()
    const statusOf = async (query: string): Promise<number> => (await routes.respond(request(query))).status
    const open = Array.from({ length: 50 }, (_, i) => `lock=${i}`)
    const streams = []
    for (const query of open) streams.push(begin(await routes.respond(request(query))))
    expect(await statusOf('lock=another')).toBe(503)
    for (let i = 0; i < 150; i += 1) streams.push(begin(await routes.respond(request('lock=7'))))
    expect(await statusOf('lock=7')).toBe(503)
    expect(await statusOf('')).toBe(503)
    streams[0]!.leave()
    expect(await statusOf('lock=another')).toBe(200)
    expect(await statusOf('lock=')).toBe(400)
    expect(await statusOf(`lock=${'x'.repeat(10_001)}`)).toBe(400)
  })
})
