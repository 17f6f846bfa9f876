import { afterEach, describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import { eventually, useRig } from '../support/rig.js'

const PROCESSES = 10
const CALLS = 100
// A machine that is busy with other tests stands still for seconds now and then.
const LEASE_MS = 8_000
const channelOf = (key: string): string => `redisson_lock__channel:{share:fleet:${key}}`
const rig = useRig()

describe('a share in ten processes', () => {
  let workers: WorkerProcess[] = []
  let running: WorkerProcess[] = []
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill()))
    workers = []
  })

  const start = async (options: object, leaseMs?: number): Promise<void> => {
    running = []
    const file = new URL('../workers/share-worker.mjs', import.meta.url)
    workers = await Promise.all(Array.from({ length: PROCESSES }, () => WorkerProcess.start(file)))
    await Promise.all(
      workers.map((worker, i) => {
        worker.on('running', () => running.push(worker))
        return worker.call('begin', { url: rig.server.url, clientName: `worker-${i}`, options, leaseMs })
      }),
    )
  }
  const callAll = (key: string, count: number) =>
    Promise.all(workers.map((worker) => worker.call('call', { key, count })))
  const untilWaiting = (key: string, processes: number): Promise<void> =>
    eventually(async () => {
      const told = (await rig.admin.pubsub('NUMSUB', channelOf(key))) as [string, number]
      return told[1] === processes
    }, 20_000)
  const killRunner = async (key: string): Promise<void> => {
    await untilWaiting(key, PROCESSES - 1)
    // The runner tells of itself on a channel of its own: the others can be seen waiting before that has arrived.
    await eventually(() => running.length === 1, 20_000)
    const [killed] = running
    await killed!.kill()
    workers = workers.filter((worker) => worker !== killed)
  }
  /** The commands with this key, from now on, in their order. */
  const commandsOn = async (key: string): Promise<{ readonly name: string; readonly source: string }[]> => {
    const commands: { readonly name: string; readonly source: string }[] = []
    const monitor = await rig.connection().monitor()
    rig.atEnd(() => monitor.disconnect())
    // Commands that scripts call have the source "lua".
    monitor.on('monitor', (_time: string, [name = '', ...args]: string[], source: string) => {
      if (source !== 'lua' && args.some((word) => word.includes(`{share:fleet:${key}}`))) {
        commands.push({ name, source })
      }
    })
    return commands
  }
  const finish = async (key: string): Promise<void> => {
    await rig.admin.del(`${key}:end`)
    await Promise.all(workers.map((worker) => worker.call('finish')))
  }

  it('runs once for a thousand callers, with at most five commands a process and three a flight', async () => {
    await start({})
    const commands = await commandsOn('a')
    await callAll('a', CALLS)
    // Each looks, subscribes, and looks once more; the one that runs looks once.
    await eventually(() => commands.length === 3 * (PROCESSES - 1) + 1, 20_000)
    await rig.admin.set('a:end', 'result')
    for (const results of await Promise.all(workers.map((worker) => worker.call('results')))) {
      expect(results).toEqual(Array.from({ length: CALLS }, () => ({ value: 'result' })))
    }
    // They fetch the result, and unsubscribe; the one that ran has finished.
    await eventually(() => commands.length >= 5 * (PROCESSES - 1) + 2, 20_000)
    const connections = String(await rig.admin.client('LIST')).split('\n')
    const addressesOf = (name: string): string[] =>
      connections
        .filter((line) => line.includes(` name=${name} `))
        .map((line) => /addr=(\S+)/.exec(line)![1]!)
    const counts = workers.map((_, i) => {
      const own = addressesOf(`worker-${i}`)
      return commands.filter(({ source }) => own.includes(source)).length
    })
    expect(counts.reduce((sum, each) => sum + each)).toBe(commands.length)
    expect(running).toHaveLength(1)
    const runner = workers.indexOf(running[0]!)
    expect(counts[runner]).toBeLessThanOrEqual(3)
    expect(Math.max(...counts.filter((_, i) => i !== runner))).toBeLessThanOrEqual(5)
    await finish('a')
  })

  it('is run by exactly one of the others when its process is killed (I12)', async () => {
    await start({}, LEASE_MS)
    await callAll('b', 3)
    await killRunner('b')
    const commands = await commandsOn('b')
    const looked = (): Set<string> =>
      new Set(commands.flatMap(({ name, source }) => (name === 'evalsha' ? source : [])))
    // Who looks for the first time after the second run has ended does not hear of it, and begins a third.
    await eventually(() => running.length === 2 && looked().size === PROCESSES - 1, 20_000)
    await rig.admin.set('b:end', 'result')
    for (const results of await Promise.all(workers.map((worker) => worker.call('results')))) {
      expect(results).toEqual(Array.from({ length: 3 }, () => ({ value: 'result' })))
    }
    expect(running).toHaveLength(2)
    await finish('b')
  })

  it('leaves its outcome unknown for all others when its process is killed, with onCrash: fail (I13)', async () => {
    await start({ onCrash: 'fail' }, LEASE_MS)
    await callAll('c', 3)
    await killRunner('c')
    for (const results of await Promise.all(workers.map((worker) => worker.call('results')))) {
      expect(results).toEqual(Array.from({ length: 3 }, () => ({ error: 'SHARE_OUTCOME_UNKNOWN' })))
    }
    expect(running).toHaveLength(1)
    await finish('c')
  })
})
