import { describe, expect, it } from '@jest/globals'
import { useScripts } from '../support/run-script.js'

const runScript = useScripts()

// `npm run test:street`, a short one: a host that npm cannot fetch is skipped, and says so.
describe('inside what its users run', () => {
  it.each([
    ['nest-bullmq', 'a deployment fails no job, and each runs once'],
    ['schedulers', 'each tick runs once, though an event loop is late'],
    ['contexts', 'who runs jobs in whose context is what the page says'],
  ])(
    '%s: %s',
    async (host) => {
      const args = ['--only', host, '--version', 'newest', '--short']
      const { code, stdout, stderr } = await runScript('../packages/outside/street.mjs', args)
      expect({ code, told: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, told: '' })
      expect(stdout).toMatch(/^(ok: |.*skipped, )/m)
    },
    240_000,
  )
})
