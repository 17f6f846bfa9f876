import { describe, expect, it } from '@jest/globals'
import { InvalidArgumentError } from '@holdfast/core'
import { HoldfastInstrumentation, type InstrumentationOptions } from '../../src/index.js'

describe('options', () => {
  it.each([
    ['lockName', 'names'],
    ['lockName', 'toString'],
    ['maxLockNames', 0],
    ['maxLockNames', 1.5],
    ['metrics', 'sdk'],
    ['spans', true],
    ['waitSpanAfterMs', -1],
    ['waitSpanAfterMs', Infinity],
  ])('refuse %s: %p', (option, value) => {
    const make = (): unknown => new HoldfastInstrumentation({ [option]: value })
    expect(make).toThrow(InvalidArgumentError)
    expect(make).toThrow(option)
  })

  it.each([
    ['lockname', /Unknown option "lockname" in \w+ \(did you mean lockName\?\)/],
    ['span', /Unknown option "span" in \w+ \(did you mean spans\?\)/],
    ['enabled', /Unknown option "enabled" in \w+ \(known: lockName, maxLockNames, /],
  ])('refuse what nobody reads, %s, and name the nearest', (key, text) => {
    const make = (): unknown => new HoldfastInstrumentation({ [key]: true })
    expect(make).toThrow(InvalidArgumentError)
    expect(make).toThrow(text)
  })

  it('are an object', () => {
    expect(() => new HoldfastInstrumentation(null as unknown as InstrumentationOptions)).toThrow('options')
  })
})
