import { describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { redisUrl, useRig } from './support/rig.js'

const MAIN = fileURLToPath(new URL('../../../../examples/recursion/main.mjs', import.meta.url))

describe('examples/recursion', () => {
  const harness = useRig({ redis: 'all' })

  const run = (...args: string[]): Promise<{ code: number | null; output: string }> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, REDIS_URL: redisUrl } })
      let output = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk) => (output += String(chunk)))
      }
      child.on('error', reject)
      child.on('close', (code) => resolve({ code, output }))
    })

  it('sells what there is, through services that ask for the same locks again', async () => {
    const { code, output } = await run()
    expect(output).toBe(
      '10 of 10 garden sets sold, left over: {"spade":0,"rake":5,"bench":3}\n' +
        'the lock of the stock was held 3 levels deep\n' +
        '60 entries in the ledger, numbered without a gap\n',
    )
    expect(code).toBe(0)
    expect(await harness.admin.keys('recursion:*')).toEqual([])
  })

  it('cannot work with locks that are not reentrant', async () => {
    const { code, output } = await run('--not-reentrant')
    expect(output).toMatch(/^NOT_REENTRANT: Lock "recursion:stock" /)
    expect(code).toBe(1)
    expect(await harness.admin.keys('recursion:*')).toEqual([])
  })
})
