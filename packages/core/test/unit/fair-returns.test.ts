import { expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { RejoinBatcher } from '../../src/pass/rejoin-batch.js'
import { runtimeWith, systemRuntime } from '../../src/runtime/runtime.js'

const NAME = 'order:42'

it('a caller behind callers that come back does not overtake them (I10)', async () => {
  const clock = new ManualClock()
  const sent: string[] = []
  const returns = new RejoinBatcher({
    runner: { keepTogether: () => undefined },
    runtime: runtimeWith(systemRuntime, clock),
    held: { isHeld: () => false },
  })
  const enter = (label: string): Promise<string> =>
    returns.enter(NAME, 2, () => {
      sent.push(label)
      return Promise.resolve(label)
    })
  returns.passedOn(NAME, clock.now())
  await clock.advance(4)
  const first = enter('comes back')
  await clock.advance(2)
  const second = enter('comes behind')
  expect(sent).toEqual([])
  await clock.advance(3)
  expect(await Promise.all([first, second])).toEqual(['comes back', 'comes behind'])
  expect(sent).toEqual(['comes back', 'comes behind'])
})
