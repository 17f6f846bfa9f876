import { describe, expect, it } from '@jest/globals'
import { connect, createServer, type AddressInfo } from 'node:net'
import { LockClient } from '../../../src/index.js'
import { failureOf } from '../support/outcomes.js'
import { eventually, useRig } from '../support/rig.js'

const NAME = 'order:42'
const rig = useRig()

/** The way to the server, on which it seems to be that version. */
async function seeming(version: string): Promise<{ readonly port: number }> {
  const listener = createServer((socket) => {
    const upstream = connect(rig.server.port, '127.0.0.1')
    socket.on('error', () => undefined).on('close', () => upstream.destroy())
    upstream.on('error', () => undefined).on('close', () => socket.destroy())
    socket.pipe(upstream)
    upstream.on('data', (chunk) => socket.write(renamed(chunk.toString('latin1'), version), 'latin1'))
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  rig.atEnd(() => listener.close())
  return { port: (listener.address() as AddressInfo).port }
}

/** The answer stays as long as before: Redis says how long it is. */
function renamed(text: string, version: string): string {
  return text.replace(/redis_version:\S+/g, (all) => `redis_version:${version}`.padEnd(all.length, '0'))
}

describe('a server that is older than Redis 6.2', () => {
  it.each(['6.0.1', '5.0.1', '2.8.1'])('%s: connect says so, with the version', async (version) => {
    const at = await seeming(version)
    const error = await failureOf(LockClient.connect(`redis://127.0.0.1:${at.port}`))
    expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'refused', transient: false })
    expect((error as Error).message).toContain(`Redis ${version}`)
    expect((error as Error).message).toContain('needs Redis 6.2 or newer')
  })

  it('the first use of a client that was given fails too, and nothing stays locked', async () => {
    const connection = rig.connection({}, await seeming('6.0.1'))
    const locks = rig.clientNow({}, connection)
    const isTooOld = { code: 'REDIS_UNAVAILABLE', transient: false, message: /^Redis 6\.0\.1\d* is too old/ }
    const said = async (call: Promise<unknown>): Promise<unknown> => {
      const { code, transient, message } = (await failureOf(call)) as typeof isTooOld & { message: string }
      return { code, transient, message: isTooOld.message.exec(message) ? isTooOld.message : message }
    }
    expect(await said(locks.getLock(NAME).acquire())).toEqual(isTooOld)
    expect(await said(locks.getLock(NAME).tryAcquire())).toEqual(isTooOld)
    expect(await said(locks.getFairLock('b').withLock(() => undefined))).toEqual(isTooOld)
    await eventually(async () => (await rig.keysLeft()).length === 0)
  })

  it.each(['6.2.0', '7.0.1'])('%s is new enough', async (version) => {
    const at = await seeming(version)
    const locks = await rig.client({}, rig.connection({}, at))
    expect(await locks.getLock(NAME).withLock(() => 'done')).toBe('done')
  })
})
