import { describe, expect, it } from '@jest/globals'
import type { Job } from 'bullmq'
import * as bullmq from 'bullmq'
import { InvalidArgumentError } from '@holdfast/core'
import { locked, type LockedOptions } from '../../src/index.js'
import { useQueues, type Data } from './support/queue-rig.js'

describe('the arguments of locked', () => {
  const rig = useQueues(bullmq)
  const process = ({ name }: Job<Data>): Promise<string> => Promise.resolve(name)

  it.each([
    ['options', undefined],
    ['options', 'a'],
    ['locks', { name: 'a' }],
    ['name', { locks: { getLock: process } }],
    ['lock', { lock: 'a' }],
    ['onConflict', { name: 'a', onConflict: 'retry' }],
    ['delayMs', { name: 'a', delayMs: 0 }],
    ['delayMs', { name: 'a', delayMs: Infinity }],
    ['delayMs', { name: 'a', delayMs: '5' }],
    ['waitMs', { name: 'a', waitMs: -1 }],
    ['waitMs', { name: 'a', waitMs: '5' }],
    ['leaseMs', { name: 'a', leaseMs: 0 }],
    ['renew', { name: 'a', leaseMs: 5_000, renew: 'yes' }],
    ['renew', { name: 'a', renew: false }],
    ['options', { name: 'a', delay: 5 }],
    ['lock', { lock: () => undefined, name: 'a' }],
    ['lock', { lock: () => undefined, locks: {} }],
  ])('are refused at once: %s of %p', (argument, options) => {
    const call = (): unknown => locked(process, options as unknown as LockedOptions<Job> & { lock: never })
    expect(call).toThrow(InvalidArgumentError)
    expect(call).toThrow(expect.objectContaining({ argument }))
  })

  it('are refused with the known one that a misspelt one is nearest to', () => {
    const options = { name: 'a', locks: { getLock: process }, onconflict: 'fail' }
    const call = (): unknown => locked(process, options as never)
    expect(call).toThrow(/Unknown option "onconflict" in \w+ \(did you mean onConflict\?\)/)
  })

  it('are refused without a processor', () => {
    expect(() => locked('file.js' as never, { lock: () => ({}) as never })).toThrow(/^processor must be/)
  })

  it('has three parameters, because BullMQ counts them before it gives a signal', async () => {
    expect(locked(process, { locks: await rig.client(), name: 'a' }).length).toBe(3)
  })

  it('needs the token of the worker where it may have to delay', async () => {
    const locks = await rig.client()
    const name = rig.harness.name()
    const hold = await locks.getLock(name).acquire()
    const job = await rig.queue().add('job', { resource: name })
    await expect(locked(process, { locks, name })(job as Job<Data, string>)).rejects.toMatchObject({
      argument: 'token',
    })
    await hold.release()
  })
})
