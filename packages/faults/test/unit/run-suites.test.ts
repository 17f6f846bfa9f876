import { describe, expect, it } from '@jest/globals'
import { runSuites } from '../../src/harness/suites/run-suites.js'

describe('suites that are run by their names', () => {
  it('one without a file is an error that names the file: Jest would run the others and say nothing', async () => {
    const wanted = {
      projects: ['unit'],
      suites: ['conformance', 'renamed'],
      interrupted: AbortSignal.abort(),
    }
    const running = runSuites(wanted)
    await expect(running).rejects.toThrow('suites: there is no renamed.test.ts in packages/core/test/redis')
  })

  it('an interruption ends the run with an error', async () => {
    const wanted = { projects: ['unit'], suites: ['conformance'], interrupted: AbortSignal.abort() }
    await expect(runSuites(wanted)).rejects.toThrow('aborted')
  })
})
