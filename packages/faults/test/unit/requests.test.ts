import { describe, expect, test } from '@jest/globals'
import { commandsIn } from '@holdfast/faults/harness'
import { encodeCommand } from '../../src/harness/network/resp.js'

describe('commandsIn', () => {
  const [first, second] = [encodeCommand(['SET', 'a', 'x\r\ny']), encodeCommand(['INCR', 'ß'])]

  test('reads every command of a chunk', () => {
    expect(commandsIn(Buffer.concat([first, second]))).toEqual([
      ['SET', 'a', 'x\r\ny'],
      ['INCR', 'ß'],
    ])
  })

  test('leaves out a last one that is not whole, wherever it was cut off', () => {
    for (let end = first.length; end < first.length + second.length - 2; end += 1) {
      const chunk = Buffer.concat([first, second]).subarray(0, end)
      expect(commandsIn(chunk)).toEqual([['SET', 'a', 'x\r\ny']])
    }
  })
})
