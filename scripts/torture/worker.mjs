import { once } from 'node:events'
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { Flow } from './flow.mjs'
import { openHistory } from './history-file.mjs'
import { seededRandom } from './random.mjs'
import { Register } from './register.mjs'

let locks
let redis
let register
let history
let flows = []
let running = []
const failures = []

serveWorker({
  begin({ name, port, registerPort, file, leaseMs, resyncMs, locks: names, flows: count, seed, interop }) {
    history = openHistory(file, name)
    redis = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 30, disconnectTimeout: 50 })
    redis.on('error', () => undefined)
    // Calls that are made before it is connected reach Redis later than those of others.
    history.add('fault', { name: `${name} starts`, class: 'disturbance', target: name })
    redis.once('ready', () => history.add('healed', { name: `${name} starts` }))
    register = new Register(registerPort)
    locks = new LockClient(redis, {
      clientName: name,
      lockWatchdogTimeout: leaseMs,
      commandTimeout: 400,
      unavailableTimeoutMs: 2_000,
      resyncInterval: resyncMs,
      interop,
      bareCalls: 'allow',
    })
    // What was lost is in the history; nobody has to read it on the terminal.
    locks.on('lost', () => undefined)
    locks.on('release-failed', () => undefined)
    locks.on('renewal-failed', () => undefined)
    flows = Array.from({ length: count }, (_, i) => {
      const random = seededRandom(seed * 100 + i)
      return new Flow({ locks, names, register, history, random, leaseMs, name: `${name}/${i}` })
    })
    running = flows.map((flow) => flow.run().catch((error) => failures.push(error)))
  },

  /** Nothing else of this process runs meanwhile. */
  block(ms) {
    const end = performance.now() + ms
    while (performance.now() < end);
  },

  progress: () => flows.reduce((sum, flow) => sum + flow.acquisitions, 0),

  async finish() {
    flows.forEach((flow) => flow.stop())
    await Promise.all(running)
    if (failures.length > 0) throw failures[0]
    await locks.close()
    const ended = once(redis, 'end')
    redis.disconnect()
    await ended
    await register.close()
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    history.add('end', { keys: [], channels: [], timers })
    history.close()
  },
})
