import { describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { once } from 'node:events'
import { LockClient } from '../../../src/index.js'
import { IoredisPort } from '../../../src/redis/ioredis/port.js'
import { scriptSending } from '../../../src/redis/ioredis/script-sending.js'
import { plainSender } from '../../../src/redis/ioredis/sender.js'
import { systemRuntime } from '../../../src/runtime/runtime.js'
import { useRig } from '../support/rig.js'

/** The parts of a command that tracers of ioredis use. */
interface TracedCommand {
  readonly name: string
  readonly args: readonly string[]
  resolve: (reply: unknown) => void
  reject: (error: unknown) => void
}

const SCRIPT = { script: { sha1: '0'.repeat(40), lua: 'return 1' }, keys: [], args: [] }
const rig = useRig()

function open(options: object = {}): Redis {
  const client = new Redis(rig.server.port, '127.0.0.1', options)
  rig.atEnd(() => client.quit().catch(() => undefined))
  return client
}

/** Calls `see` for each script that the client has sent by its digest. */
function trace(client: Redis, see: (command: TracedCommand, sent: unknown) => void): void {
  const send = client.sendCommand.bind(client)
  client.sendCommand = (command) => {
    const sent = send(command)
    if (command.name === 'evalsha') see(command as unknown as TracedCommand, sent)
    return sent
  }
}

async function lockedOnce(client: Redis, name: string): Promise<void> {
  const locks = await LockClient.connect(client)
  try {
    const hold = await locks.getLock(name).acquire()
    expect(Object.keys(await rig.admin.hgetall(name))).toEqual([hold.owner])
    expect(await hold.release()).toBe('released')
    expect(await rig.admin.exists(name)).toBe(0)
  } finally {
    await locks.close()
  }
}

describe('commands that encode themselves', () => {
  it.each([
    ['one byte per character', 'order:42'],
    ['several bytes per character', 'заказ:42:🔒'],
    ['more bytes than most', `order:${'4'.repeat(500)}`],
  ])('carry a name of %s', async (_, name) => {
    await lockedOnce(open(), name)
  })

  it('are seen by a tracer that replaces how a command is settled', async () => {
    const client = open()
    const spans: unknown[] = []
    trace(client, (command) => {
      const { resolve, reject } = command
      command.resolve = (reply) => {
        spans.push([command.args[2], reply])
        resolve(reply)
      }
      command.reject = (error) => {
        spans.push(['failed', String(error)])
        reject(error)
      }
    })
    await rig.admin.script('FLUSH')
    // By their texts, then by their digests.
    await lockedOnce(client, 'order:42')
    await lockedOnce(client, 'order:42')
    expect(spans).toContainEqual(['failed', expect.stringContaining('NOSCRIPT')])
    expect(spans.filter((span) => (span as [string])[0] === 'order:42')).not.toEqual([])
  })

  it('are seen by a tracer that waits for the promise that sendCommand returns', async () => {
    const client = open()
    const replies: unknown[] = []
    trace(client, (_, sent) => replies.push(sent))
    await lockedOnce(client, 'order:42')
    const settled = await Promise.allSettled(replies)
    expect(settled.length).toBeGreaterThanOrEqual(2)
    expect(settled.map(({ status }) => status)).toContain('fulfilled')
  })

  it('fail as ioredis fails its own when sendCommand refuses them', async () => {
    const client = open()
    await once(client, 'ready')
    client.disconnect()
    await once(client, 'end')
    const sending = scriptSending(client, plainSender(client))
    const failure = await new Promise((resolve) => {
      sending.run(SCRIPT, 'evalsha', { isWanted: () => true, answered: resolve, failed: resolve })
    })
    expect(failure).toMatchObject({ message: 'Connection is closed.' })
  })

  it('fail when the port has noticed that the connection broke', async () => {
    const client = open({ retryStrategy: () => null })
    await once(client, 'ready')
    const port = new IoredisPort(client, false, { background: systemRuntime, commandTimeout: 3_000 })
    const epoch = new Promise((resolve) => {
      const failed = (): void => resolve(port.connectionEpoch)
      port.run(SCRIPT, 'eval', { isWanted: () => true, answered: () => resolve('answered'), failed })
    })
    client.stream.destroy()
    expect(await epoch).toBe(1)
    await port.close()
  })
})

describe('a client is called by its methods', () => {
  it('when its evalsha was replaced', async () => {
    const client = open()
    let calls = 0
    const evalsha = Reflect.get(client, 'evalsha') as (...args: unknown[]) => Promise<unknown>
    Reflect.set(client, 'evalsha', function (this: unknown, ...args: unknown[]) {
      calls += 1
      return evalsha.apply(this, args)
    })
    await lockedOnce(client, 'order:42')
    expect(calls).toBeGreaterThanOrEqual(2)
  })

  it('when its commands have a time limit of their own', async () => {
    const client = open({ commandTimeout: 5_000 })
    const names = new Set<string>()
    trace(client, (command) => names.add(command.constructor.name))
    await lockedOnce(client, 'order:42')
    expect([...names]).toEqual(['Command'])
  })
})
