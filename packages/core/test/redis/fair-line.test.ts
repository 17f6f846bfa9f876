import { describe, expect, it } from '@jest/globals'
import { FairLine, served } from './support/fair-line.js'
import { soon, useRig } from './support/rig.js'

const NAME = 'hot'
// So rare that none falls into the measurement: hand-offs are counted, not the heartbeats beside them.
const RARE_MS = 60_000

const rig = useRig()

describe('a long queue of callers of four clients', () => {
  it.each([10, 60])(
    'a long queue of callers of four clients of %i is served in order, at no more than two scripts for each hand-off (I10)',
    async (waiters) => {
      const line = new FairLine(rig.admin, NAME)
      const options = { resyncInterval: RARE_MS, localPassing: false }
      const clients = await Promise.all(Array.from({ length: 4 }, () => rig.client(options)))
      const holder = await line.lockOf(await rig.client(options)).acquire()
      const labels = Array.from({ length: waiters }, (_, i) => `caller ${i}`)
      const standing = await line.joinAll(labels, (label) => clients[labels.indexOf(label) % 4]!)
      await rig.server.resetStats()
      await holder.release()
      await soon(served(standing))
      const scripts = (await rig.server.commandStats()).get('evalsha') ?? 0
      expect(line.served).toEqual(labels)
      // The release of the first holder is one more.
      expect(scripts).toBeLessThanOrEqual(2 * waiters + 1)
    },
  )
})
