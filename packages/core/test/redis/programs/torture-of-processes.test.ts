import { describe, expect, it } from '@jest/globals'
import { useScripts } from '../support/run-script.js'

const LONG_MS = 240_000
const PERMITS = 'semaphore,permits,latch'

const run = useScripts()
/** `npm run faults -- torture`, a short one of what is hardest for these kinds. */
const tortured =
  (kinds: string, faults: string): (() => Promise<void>) =>
  async () => {
    const args = `torture --minutes 0.1 --seed 1 --kinds ${kinds} --faults ${faults}`.split(' ')
    const { code, stdout, stderr } = await run('faults.mjs', args)
    expect({ code, output: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, output: '' })
    expect(stdout).toMatch(/^[1-9]\d* (acquisitions|times permits)|, [1-9]\d* times permits that end/)
  }

describe('processes near and far, some of them slow', () => {
  it('a fair lock serves in order, whoever dies (I10)', tortured('fair', 'process-killed'), LONG_MS)
  it(
    'tokens grow through restarts, and those of time without the data (I9)',
    tortured('fenced', 'redis-restarts,redis-restarts-empty'),
    LONG_MS,
  )
  it(
    'only readers are inside together, and nobody is kept out (I1, I4, I5)',
    tortured('read-write', 'none'),
    LONG_MS,
  )
  it(
    'permits: never more than there are, what the dead had is lost or back (I1, I2, I4)',
    tortured(PERMITS, 'process-killed'),
    LONG_MS,
  )
  it(
    'permits: with lost replies and late copies each operation counts once (I1, I2)',
    tortured(PERMITS, 'lose-reply,late-copy,black-hole'),
    LONG_MS,
  )
  it(
    'one leads at a time, and whoever follows hears of every term (I1, I9, I11)',
    tortured('election', 'process-killed,cut,process-stands-still'),
    LONG_MS,
  )
  it(
    'a run is shared: one result for all, whoever dies (I12, I13)',
    tortured('share', 'process-killed,killed-at-a-command,lose-reply'),
    LONG_MS,
  )
  it(
    'holds travel, and nobody gets in between (I1)',
    tortured('journey', 'lose-reply,late-copy,killed-at-a-command'),
    LONG_MS,
  )

  it('an argument that is wrong is exit code 2', async () => {
    const { code, stderr } = await run('faults.mjs', ['torture', '--faults', 'rain'])
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /'--faults <LIST>' argument 'rain' is invalid\. It knows no 'rain', only lose-reply/,
    )
  })
})
