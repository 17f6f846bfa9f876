import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { carrierPackage } from '../support/carrier.js'
import { eventually } from '../support/rig.js'
import { failureOf } from '../support/outcomes.js'
import { SlowClock } from '../support/slow-clock.js'
import { describe, it, useNodes } from '../support/together.js'

const nodes = useNodes(3)
const WORKER = fileURLToPath(new URL('../workers/refused-then-exits.mjs', import.meta.url))
const NAME = 'order:42'
const run = promisify(execFile)

/** How a caller asks, and what it is told. */
const WAYS = [
  ['tryAcquire', 'null'],
  ['tryLock', 'false'],
  ['tryLock with a wait', 'false'],
  ['acquire that times out', 'LOCK_TIMEOUT'],
  ['withLock that times out', 'LOCK_TIMEOUT'],
  ['acquire that is aborted while it asks', 'AbortError'],
  ['acquire that is aborted while it waits', 'AbortError'],
] as const

interface Asked {
  readonly how: string
  readonly red: boolean
  readonly targets: readonly { readonly url: string; readonly name: string }[]
}

/** The answer to a process that asks; it ends in the turn of its answer. */
async function answerTo(asked: Asked): Promise<string> {
  const env = { ...process.env, HOLDFAST_TEST_CARRIER: carrierPackage }
  const { stdout } = await run(process.execPath, [WORKER, JSON.stringify(asked)], { env })
  return stdout
}

/** Everything that is in Redis, but for the locks of the holder. */
async function keysBeside(...names: string[]): Promise<string[]> {
  return (await nodes.keys()).filter((key) => !names.includes(key))
}

describe('a caller that is refused, and whose process ends at once, leaves nothing (I5)', () => {
  it.each(WAYS)('multi lock on one Redis: %s', async (how, told) => {
    const [other] = await nodes.participant()
    const hold = await other!.getLock('c').acquire()
    const { url } = nodes.at(0).server
    const targets = ['a', 'b', 'c', 'd'].map((name) => ({ url, name }))
    expect(await answerTo({ how, red: false, targets })).toBe(told)
    expect(await keysBeside('c')).toEqual([])
    await hold.release()
  })

  it.each(WAYS)('multi lock of three Redis: %s', async (how, told) => {
    const [, other] = await nodes.participant()
    const hold = await other!.getLock(NAME).acquire()
    const targets = nodes.all.map(({ server }) => ({ url: server.url, name: NAME }))
    expect(await answerTo({ how, red: false, targets })).toBe(told)
    expect(await nodes.holders(NAME)).toEqual([undefined, hold.owner, undefined])
    await hold.release()
  })

  it.each(WAYS)('RedLock: %s', async (how, told) => {
    const others = await nodes.participant()
    const holds = await Promise.all([1, 2].map((i) => others[i]!.getLock(NAME).acquire()))
    const targets = nodes.all.map(({ server }) => ({ url: server.url, name: NAME }))
    expect(await answerTo({ how, red: true, targets })).toBe(told)
    expect(await nodes.holders(NAME)).toEqual([undefined, ...holds.map(({ owner }) => owner)])
    await Promise.all(holds.map((hold) => hold.release()))
  })
})

describe('a caller that is refused over a slow wire is told when its members are free', () => {
  const SLOW_MS = 60
  // A busy machine must not make the others count as silent.
  const PATIENT = { nodeTimeoutMs: 5_000 }

  /** The last node is somebody else's, and for a RedLock the second, too. */
  async function refused(red: boolean, controller?: AbortController): Promise<unknown[]> {
    // On its clock a call that was aborted has 25 s for what it gives back, and not 250 ms.
    const one = await nodes.participant({ runtime: new SlowClock(true) })
    const others = await nodes.participant()
    const members = one.map((client) => client.getLock(NAME))
    const lock = red ? one[0]!.getRedLock(members, PATIENT) : one[0]!.getMultiLock(...members)
    await lock.withLock(() => undefined)
    const taken = red ? [1, 2] : [2]
    const holds = await Promise.all(taken.map((i) => others[i]!.getLock(NAME).acquire()))
    nodes.at(0).proxy.delay(SLOW_MS)
    const asking = controller ? failureOf(lock.acquire({ signal: controller.signal })) : lock.tryAcquire()
    if (controller) {
      await eventually(async () => (await nodes.holders(NAME, [nodes.at(0)]))[0] !== undefined)
      controller.abort(new Error('no more'))
    }
    const answer = await asking
    const [first] = await nodes.holders(NAME, [nodes.at(0)])
    nodes.at(0).proxy.pass()
    await Promise.all(holds.map((hold) => hold.release()))
    return [answer, first]
  }

  const KINDS: [string, boolean][] = [
    ['multi lock', false],
    ['RedLock', true],
  ]

  it.each(KINDS)('%s: one attempt', async (_, red) => {
    expect(await refused(red)).toEqual([null, undefined])
  })

  it.each(KINDS)('%s: a wait that is aborted while it asks', async (_, red) => {
    const [answer, first] = await refused(red, new AbortController())
    expect([(answer as Error).message, first]).toEqual(['no more', undefined])
  })
})

describe('a refusal does not wait for a server that is silent', () => {
  const WAIT_MS = 300

  it.each([0, WAIT_MS])(
    'multi lock, waitMs %d: one of its members hangs while another is released',
    async (waitMs) => {
      const commandTimeout = 1_000
      const [one, other] = [
        await nodes.participant({ commandTimeout }),
        await nodes.participant({ commandTimeout }),
      ]
      const lock = one[0]!.getMultiLock(...one.map((client) => client.getLock(NAME)))
      await lock.withLock(() => undefined)
      const hold = await other[1]!.getLock(NAME).acquire()
      // The first to be asked is taken; its release has no answer.
      nodes.at(0).proxy.blackHole()
      const startedAt = performance.now()
      const error = await failureOf(lock.acquire({ waitMs }), 8_000)
      expect(error).toMatchObject({ code: expect.stringMatching(/^(REDIS_UNAVAILABLE|LOCK_TIMEOUT)$/) })
      expect(performance.now() - startedAt).toBeLessThan(2 * commandTimeout + 4_000)
      nodes.at(0).proxy.pass()
      await eventually(async () => (await nodes.holders(NAME)).join() === `,${hold.owner},`)
      await hold.release()
    },
  )
})
