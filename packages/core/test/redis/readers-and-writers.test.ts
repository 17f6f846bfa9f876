import { expect, it } from '@jest/globals'
import { useScripts } from './support/run-script.js'

const LIMIT_MS = 60_000

const run = useScripts()

it(
  '300 random reads and writes of three processes: only readers are inside together (I1, I4, I5)',
  async () => {
    const { code, stdout, stderr } = await run(
      'faults.mjs',
      'readers-and-writers --operations 300 --processes 3'.split(' '),
    )
    const output = stdout + stderr
    expect(output).toContain('No violation.')
    expect(output).toMatch(/up to ([2-9]|\d\d) readers of [23] processes inside at once/)
    expect(code).toBe(0)
  },
  LIMIT_MS,
)
