import { describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { useRig } from '../support/rig.js'

const WORKER = fileURLToPath(new URL('../workers/instances-made.mjs', import.meta.url))

interface InstancesMade {
  readonly acquire: readonly string[]
  readonly release: readonly string[]
}

describe('instances of classes, which each call pays for and each reader has to know', () => {
  const rig = useRig({ redis: 'all' })

  it('are sixteen for an uncontended acquire, and three for its release', async () => {
    const request = JSON.stringify({ url: rig.url, name: rig.name() })
    const { stdout } = await promisify(execFile)(process.execPath, [WORKER, request])
    const made = JSON.parse(stdout) as InstancesMade
    // Not nothing either: what is counted are the classes of core, waiter and watchdog.
    expect(made.acquire).toEqual(
      expect.arrayContaining(['AcquireCall', 'ParkedCaller', 'TrackedWatch', 'Hold']),
    )
    // Four of them are members of an entry and of an acquisition, whose superclasses they were: the objects are no more.
    expect(made.acquire.length).toBeLessThanOrEqual(16)
    expect([...made.release].sort()).toEqual(['ReleaseCommand', 'ScriptCommand', 'SentScript'])
  })
})
