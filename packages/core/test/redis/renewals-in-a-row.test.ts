import { describe, expect, it } from '@jest/globals'
import { eventually, useRig } from './support/rig.js'
import { renewScript } from '../../src/scripts/lock.js'

const SCRIPT_SIZE = 5

describe('renewals of one row', () => {
  const rig = useRig()

  const holdMany = async (scripts: number, leaseMs: number) => {
    const proxy = await rig.proxy()
    const client = await rig.client(
      { lockWatchdogTimeout: leaseMs, watchdogBatchSize: SCRIPT_SIZE, commandTimeout: 200 },
      // It sends no command again that has no answer when the connection breaks.
      rig.connection({ autoResendUnfulfilledCommands: false }, proxy),
    )
    const lost: string[] = []
    client.on('lost', ({ lockName }) => lost.push(lockName))
    const names = Array.from({ length: scripts * SCRIPT_SIZE }, (_, i) => `order:${i}`)
    const holds = await Promise.all(names.map((name) => client.getLock(name).acquire()))
    return { proxy, client, lost, holds }
  }

  it('leave one script on the answer of the other', async () => {
    const { proxy, holds, lost } = await holdMany(4, 3_000)
    let requests = 0
    let atOnce = 0
    proxy.loseReply((bytes) => {
      const inThisWrite = bytes.toString('latin1').split(renewScript.sha1).length - 1
      requests += inThisWrite
      atOnce = Math.max(atOnce, inThisWrite)
      return false
    })
    await eventually(() => requests >= 4, 5_000)
    expect([atOnce, lost]).toEqual([1, []])
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('what was answered counts, and what comes behind a lost answer is asked again', async () => {
    const { proxy, holds, lost } = await holdMany(4, 3_000)
    await rig.server.resetStats()
    let scripts = 0
    const fault = proxy.loseReply((bytes) => bytes.includes(renewScript.sha1) && (scripts += 1) === 2)
    await fault.happened
    await eventually(() => holds.every(({ trustedForMs }) => trustedForMs > 2_200), 5_000)
    // Each script, and once more the one that had no answer.
    expect([(await rig.server.commandStats()).get('hexists'), lost]).toEqual([5 * SCRIPT_SIZE, []])
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('leave together where Redis is far away: none is lost', async () => {
    const { proxy, holds, lost } = await holdMany(16, 900)
    proxy.delay(40)
    await rig.server.resetStats()
    const all = 16 * SCRIPT_SIZE
    // Three cycles: one behind the other sixteen scripts took longer than the lease.
    await eventually(async () => ((await rig.server.commandStats()).get('pexpireat') ?? 0) >= 3 * all, 8_000)
    expect([lost, holds.every(({ signal }) => !signal.aborted)]).toEqual([[], true])
    proxy.delay(0)
    await Promise.all(holds.map((hold) => hold.release()))
  })
})
