import { describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { LOCK_CHANNELS } from '@holdfast/core'
import type { InstrumentationOptions } from '../../src/index.js'
import { sumOf, Telemetry } from '../redis/support/telemetry.js'

const run = promisify(execFile)
const PROGRAM = fileURLToPath(new URL('support/many-names.mjs', import.meta.url))
const NAMES = 250_000
const MOST_MB = 10

describe(`${NAMES} names of locks`, () => {
  it.each<[string, InstrumentationOptions, 'id' | 'word', number]>([
    ['with ids are one series', {}, 'id', 1],
    ['that are words are as many as `maxLockNames` allows', { metrics: 'producer' }, 'word', 300],
    ['as they are, likewise', { lockName: 'raw', metrics: 'producer', maxLockNames: 50 }, 'id', 50],
    ['left out are one series', { lockName: 'omit', metrics: 'producer' }, 'word', 1],
  ])('%s', async (_, options, kindOfName, series) => {
    const given = JSON.stringify({ names: NAMES, kindOfName, options })
    const { stdout } = await run(process.execPath, ['--expose-gc', PROGRAM, given], { maxBuffer: 2 ** 26 })
    const { grownMb, text } = JSON.parse(stdout) as { grownMb: number; text: string }
    expect(grownMb).toBeLessThan(MOST_MB)
    const lines = text.split('\n').filter((line) => line.startsWith('holdfast_lock_acquisitions_total{'))
    expect(lines).toHaveLength(series)
    expect(sumOf(text, 'holdfast_lock_acquisitions_total', {})).toBe(NAMES)
    expect(sumOf(text, 'holdfast_lock_hold_duration_count', {})).toBe(NAMES)
    expect(text.includes('holdfast_lock_name="other"')).toBe(series > 1)
  })

  it('names that a function throws for cost only the name', async () => {
    const telemetry = new Telemetry({
      lockName: () => {
        throw new Error('no')
      },
    })
    channel(LOCK_CHANNELS.callEnded).publish({
      ...{ phase: 'ended', lockName: 'a', kind: 'reentrant', hasWaited: false, outcome: 'timeout' },
    })
    expect(await telemetry.sum('holdfast_lock_acquisitions_total', { name: 'other' })).toBe(1)
    await telemetry.stop()
  })
})
