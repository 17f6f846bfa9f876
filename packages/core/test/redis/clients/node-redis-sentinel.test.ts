import { afterEach, describe, expect, it } from '@jest/globals'
import { RedisReplication, type RedisServer } from '@holdfast/faults/harness'
import { EventEmitter } from 'node:events'
import { createClient } from 'redis'
import type { LockClient, LockClientOptions } from '../../../src/index.js'
import { outcomeOf } from '../support/outcomes.js'
import { useOpened } from '../support/opened.js'
import { eventually, own, soon } from '../support/rig.js'

const NAME = 'order:42'

/** A Sentinel client as Holdfast sees it, which hears of another primary when the test says so. */
class SlowSentinel extends EventEmitter {
  isOpen = true
  readonly isReady = true
  private readonly pooled: ReturnType<typeof createClient>

  constructor(private named: RedisServer) {
    super()
    this.pooled = createClient({ socket: { port: named.port } })
  }

  getMasterNode(): { host: string; port: number } {
    return { host: this.named.host, port: this.named.port }
  }

  getSentinelNode(): undefined {
    return undefined
  }

  _execute(_isReadonly: unknown, use: (client: unknown) => Promise<unknown>): Promise<unknown> {
    return use(this.pooled)
  }

  hears(of: RedisServer): void {
    this.named = of
    this.emit('topology-change', { type: 'MASTER_CHANGE', node: { host: of.host, port: of.port } })
  }

  connect = (): Promise<unknown> => Promise.resolve()
  evalSha = (): Promise<unknown> => Promise.reject(new Error('Commands go elsewhere.'))
  eval = this.evalSha
}

describe('the primary that a Sentinel client of node-redis names', () => {
  const opened = useOpened()
  const group = own(() => RedisReplication.start())
  afterEach(() => group.stop())

  const open = (sentinel: SlowSentinel, options: LockClientOptions = {}): Promise<LockClient> =>
    opened.client(sentinel, options)
  /** The former primary is a replica of the new one, and keeps its clients. */
  const switched = async (): Promise<{ former: RedisServer; primary: RedisServer }> => {
    const [former, primary] = [group.primary, group.replicas[0]!]
    await group.healReplication()
    await group.promote(primary)
    await former.command('REPLICAOF', primary.host, primary.port)
    return { former, primary }
  }
  const listens = (at: RedisServer, name: string): Promise<void> =>
    eventually(async () =>
      ((await at.command('PUBSUB', 'CHANNELS')) as string[]).includes(`redisson_lock__channel:{${name}}`),
    )

  it('is left when it says that it is a replica, for the one that it names: before Sentinel does (I1, I4)', async () => {
    const sentinel = new SlowSentinel(group.primary)
    const [locks, others] = [await open(sentinel), await open(sentinel, { resyncInterval: 60_000 })]
    const { former, primary } = await switched()
    const hold = await soon(locks.getLock(NAME).acquire())
    expect(await primary.command('HGETALL', NAME)).toEqual([hold.owner, '1'])
    const waiting = others.getLock(NAME).acquire()
    await listens(primary, NAME)
    // It names the server where everybody is: nobody leaves.
    let breaks = 0
    locks.on('primary-changed', () => (breaks += 1))
    sentinel.hears(primary)
    expect(hold.trustedForMs).toBeGreaterThan(0)
    expect(await hold.release()).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
    expect([breaks, former.running]).toEqual([0, true])
  })

  it('is left for another one that Sentinel names, commands and messages (I1, I4)', async () => {
    const sentinel = new SlowSentinel(group.primary)
    const locks = await open(sentinel)
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 60_000 })
    const [primary] = group.replicas as [RedisServer]
    await group.healReplication()
    await group.promote(primary)
    sentinel.hears(primary)
    // Nothing is trusted until the new one has confirmed it.
    expect(hold.trustedForMs).toBe(0)
    await eventually(() => hold.trustedForMs > 0)
    const inbox = `holdfast:client:${locks.clientId}`
    await eventually(async () => ((await primary.command('PUBSUB', 'CHANNELS')) as string[]).includes(inbox))
    expect(await hold.release()).toBe('released')
    expect(await primary.command('EXISTS', NAME)).toBe(0)
  })

  it('is not asked any more after its user has closed the client: every call says so at once', async () => {
    const sentinel = new SlowSentinel(group.primary)
    const locks = await open(sentinel)
    sentinel.isOpen = false
    sentinel.emit('end')
    expect(await outcomeOf(locks.getLock(NAME).tryLock())).toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: expect.stringMatching(/^The Redis connection has ended/),
      transient: false,
    })
  })
})
