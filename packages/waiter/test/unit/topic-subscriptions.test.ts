import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { TopicSubscriptions } from '../../src/index.js'
import { FakeWakeSource } from '../fake-wake-source.js'

let source: FakeWakeSource
let topics: TopicSubscriptions
let heard: string[]
beforeEach(() => {
  source = new FakeWakeSource()
  topics = new TopicSubscriptions(source)
  heard = []
})
afterEach(async () => {
  await topics.close()
  expect(source.subscribed.size).toBe(0)
  expect(source.breaches).toEqual([])
})

const turns = async () => {
  for (let i = 0; i < 20; i += 1) await Promise.resolve()
}
const one = (payload: string) => void heard.push(`one ${payload}`)
const two = (payload: string) => void heard.push(`two ${payload}`)

describe('topic subscriptions', () => {
  it('subscribe once for many listeners and unsubscribe with the last', async () => {
    await Promise.all([topics.add('t', one), topics.add('t', two)])
    source.publish('t', 'a')
    await topics.remove('t', one)
    source.publish('t', 'b')
    expect(source.calls).toEqual(['subscribe t'])
    await topics.remove('t', two)
    expect(source.calls).toEqual(['subscribe t', 'unsubscribe t'])
    expect(heard).toEqual(['one a', 'two a', 'two b'])
  })

  it('count a listener that is added twice, and tell it once', async () => {
    await topics.add('t', one)
    await topics.add('t', one)
    source.publish('t', 'a')
    await topics.remove('t', one)
    source.publish('t', 'b')
    await topics.remove('t', one)
    expect(heard).toEqual(['one a', 'one b'])
    expect(source.subscribed.size).toBe(0)
  })

  it('confirm an add only when the source has', async () => {
    source.hold()
    let confirmed = 0
    const adding = [one, two].map((listener) => topics.add('t', listener).then(() => (confirmed += 1)))
    await turns()
    expect(confirmed).toBe(0)
    source.release()
    await Promise.all(adding)
    expect(confirmed).toBe(2)
  })

  it('end subscribed when an add meets the unsubscribe in flight', async () => {
    await topics.add('t', one)
    source.hold()
    const removing = topics.remove('t', one)
    const adding = topics.add('t', two)
    await turns()
    expect(source.calls).toEqual(['subscribe t', 'unsubscribe t'])
    source.release()
    await Promise.all([removing, adding])
    expect(source.calls).toEqual(['subscribe t', 'unsubscribe t', 'subscribe t'])
    source.publish('t', 'a')
    expect(heard).toEqual(['two a'])
  })

  it('stay when they are wanted again before there is time to unsubscribe', async () => {
    let go = (): void => undefined
    source.beforeUnsubscribe = () => new Promise((resolve) => (go = resolve))
    await topics.add('t', one)
    expect(topics.isLive('t')).toBe(true)
    const removing = topics.remove('t', one)
    expect(topics.isLive('t')).toBe(true)
    await topics.add('t', two)
    go()
    await removing
    expect(source.calls).toEqual(['subscribe t'])
    const last = topics.remove('t', two)
    go()
    await last
    expect(source.calls).toEqual(['subscribe t', 'unsubscribe t'])
    expect(topics.isLive('t')).toBe(false)
  })

  it('end unsubscribed when that add is taken back before its turn', async () => {
    await topics.add('t', one)
    source.hold()
    const removing = topics.remove('t', one)
    const adding = topics.add('t', two)
    const takingBack = topics.remove('t', two)
    source.release()
    await Promise.all([removing, adding, takingBack])
    expect(source.calls).toEqual(['subscribe t', 'unsubscribe t'])
  })

  it('end unsubscribed when the last listener goes while the subscribe is in flight', async () => {
    source.hold()
    const adding = topics.add('t', one)
    const removing = topics.remove('t', one)
    source.release()
    await Promise.all([adding, removing])
    expect(source.calls).toEqual(['subscribe t', 'unsubscribe t'])
  })

  it('stay subscribed, with one call, when another listener comes instead', async () => {
    source.hold()
    const adding = topics.add('t', one)
    const removing = topics.remove('t', one)
    const addingOther = topics.add('t', two)
    source.release()
    await Promise.all([adding, removing, addingOther])
    expect(source.calls).toEqual(['subscribe t'])
    source.publish('t', 'a')
    expect(heard).toEqual(['two a'])
  })

  it('reject every add that waited for a failed subscribe, and register none', async () => {
    source.failing = ['subscribe']
    const adding = await Promise.allSettled([topics.add('t', one), topics.add('t', two)])
    expect(adding.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    source.failing = []
    await topics.add('t', two)
    source.publish('t', 'a')
    expect(heard).toEqual(['two a'])
    expect(source.calls).toEqual(['subscribe t', 'subscribe t'])
  })

  it('tell nothing to a listener whose subscribe failed, even if the source delivers nevertheless', async () => {
    let deliver: (payload: string) => void = () => undefined
    const subscribe = source.subscribe.bind(source)
    source.subscribe = (_topic, onMessage) => {
      deliver = onMessage
      return Promise.reject(new Error('timed out'))
    }
    await expect(topics.add('t', one)).rejects.toThrow('timed out')
    deliver('a')
    expect(heard).toEqual([])
    source.subscribe = subscribe
  })

  it('keep nothing of a topic that nobody listens to', async () => {
    const kept = () => (Reflect.get(topics, 'topics') as Map<string, unknown>).size
    await topics.add('t', one)
    expect(kept()).toBe(1)
    await topics.remove('t', one)
    source.failing = ['subscribe']
    await topics.add('u', one).catch(() => undefined)
    expect(kept()).toBe(0)
  })

  it('reject an add when the source throws, and can be asked again', async () => {
    const subscribe = source.subscribe.bind(source)
    source.subscribe = () => {
      throw new Error('not a rejection')
    }
    await expect(topics.add('t', one)).rejects.toThrow('not a rejection')
    source.subscribe = subscribe
    await topics.add('t', one)
    expect(source.subscribed.size).toBe(1)
  })

  it('swallow the error of an unsubscribe, and subscribe anew afterwards', async () => {
    await topics.add('t', one)
    source.failing = ['unsubscribe']
    await topics.remove('t', one)
    source.failing = []
    source.subscribed.clear()
    await topics.add('t', one)
    expect(source.calls).toEqual(['subscribe t', 'unsubscribe t', 'subscribe t'])
  })

  it('ignore the removal of what was never added', async () => {
    await topics.remove('nothing', one)
    await topics.add('t', one)
    await topics.remove('t', two)
    expect(source.calls).toEqual(['subscribe t'])
  })

  it('let a throwing listener, and one that re-adds itself, harm nobody', async () => {
    const throwing = () => {
      throw new Error('listener')
    }
    const restless = () => {
      void topics.remove('t', restless)
      void topics.add('t', restless)
    }
    await Promise.all([throwing, restless, one].map((listener) => topics.add('t', listener)))
    source.publish('t', 'a')
    expect(heard).toEqual(['one a'])
  })

  it('keep different topics apart', async () => {
    await Promise.all([topics.add('a', one), topics.add('b', two)])
    source.publish('b', 'x')
    expect(heard).toEqual(['two x'])
  })

  it('close while a subscribe is in flight: the add rejects and nothing stays subscribed', async () => {
    source.hold()
    const adding = topics.add('t', one)
    const closing = topics.close()
    source.release()
    await expect(adding).rejects.toThrow('closed')
    await closing
    await topics.close()
    await expect(topics.add('t', one)).rejects.toThrow('closed')
    expect(source.calls).toEqual(['subscribe t', 'unsubscribe t'])
  })
})
