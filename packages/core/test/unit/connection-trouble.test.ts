import { describe, expect, it } from '@jest/globals'
import { EventEmitter } from 'node:events'
import { ConnectionTrouble, lastsForGood } from '../../src/redis/connection-trouble.js'

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), {
  code: 'ECONNREFUSED',
  address: '127.0.0.1',
})
const unknownHost = Object.assign(new Error('getaddrinfo ENOTFOUND redis'), { code: 'ENOTFOUND' })

/** The trouble of a client that has these errors, one after the other. */
function after(...errors: Error[]): Error | undefined {
  return troubleOf(new EventEmitter(), errors)
}

/** The field in which iovalkey keeps the families of addresses that it tries. */
const ofIovalkey = (...errors: Error[]) =>
  troubleOf(Object.assign(new EventEmitter(), { options: { familyFallback: { enabled: true } } }), errors)

function troubleOf(client: EventEmitter, errors: readonly Error[]): Error | undefined {
  // Without it, the errors would be printed as ioredis prints them.
  client.on('error', () => undefined)
  const trouble = new ConnectionTrouble(client, 'ioredis')
  errors.forEach((error) => client.emit('error', error))
  trouble.close()
  return trouble.latest
}

describe('the trouble of a connection', () => {
  it('is that of a host that nobody knows: another attempt would fail alike', () => {
    expect(lastsForGood(after(unknownHost)!)).toBe(true)
  })

  it('is that of an address, where iovalkey then finds none of the other family: another attempt may succeed', () => {
    expect(after(refused, unknownHost)).toBe(refused)
    expect(lastsForGood(after(refused, unknownHost)!)).toBe(false)
    expect(after(unknownHost, refused)).toBe(refused)
  })

  it('the trouble of a connection of iovalkey: one family without an address is half of the truth, also behind an error that names none', () => {
    const tooMany = new Error('ERR max number of clients reached')
    expect(ofIovalkey(unknownHost)).toBeUndefined()
    expect(ofIovalkey(tooMany, unknownHost)).toBe(tooMany)
    expect(ofIovalkey(tooMany, unknownHost, tooMany, unknownHost)).toBe(tooMany)
    expect(ofIovalkey(unknownHost, unknownHost)).toBe(unknownHost)
  })
})
