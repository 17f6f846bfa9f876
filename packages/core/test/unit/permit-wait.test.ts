import { describe, expect, it } from '@jest/globals'
import { Waiter } from '@holdfast/waiter'
import { RedisUnavailableError } from '../../src/errors.js'
import type { SynchronizerServices } from '../../src/synchronizers/services.js'
import { CountedCommands } from '../../src/synchronizers/counted-commands.js'
import { Operations } from '../../src/synchronizers/operations.js'
import { PermitWait, type Take } from '../../src/synchronizers/permit-wait.js'
import { systemRuntime } from '../../src/runtime/runtime.js'

/** Answers in turn, an error by throwing it; the numbers of the operations that asked. */
function answering(answers: (Take<string> | Error)[]) {
  const numbers: number[] = []
  const source = {
    kind: 'permit' as const,
    ...{ lockName: 'pool', key: 'pool', what: 'a semaphore', queue: 'pool', topic: 'pool', permits: 1 },
    take: ({ number }: { number: number }) => {
      numbers.push(number)
      const answer = answers.shift()
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as Take<string>)
    },
    cancel: () => Promise.resolve(0),
  }
  return { source, numbers }
}

const TAKEN: Take<string> = { kind: 'taken', value: 'it', left: 0 }
const REFUSED: Take<string> = { kind: 'refused', left: 0, isMissing: false }
const NO_ANSWER = new RedisUnavailableError('silence', { outcome: 'unknown', transient: true })

describe('the number of a try', () => {
  const obtain = async (answers: (Take<string> | Error)[]): Promise<number[]> => {
    const messages = {
      subscribe: () => Promise.resolve(),
      unsubscribe: () => Promise.resolve(),
      onResubscribed: () => () => undefined,
    }
    // No tick comes in time: what is tried is tried for another reason.
    const waiter = new Waiter(messages, {
      clock: systemRuntime,
      random: Math.random,
      resyncIntervalMs: 60_000,
    })
    const session = {
      ...{ waiter, clientId: 'c~1', runner: { connectionEpoch: 0 } },
      reports: { begun: () => null, parked: () => false, waits: { ended: () => undefined } },
      missingSemaphores: { remove: () => undefined },
      runtime: systemRuntime,
    } as unknown as SynchronizerServices
    const { source, numbers } = answering(answers)
    const commands = new CountedCommands(session, new Operations(session))
    const taken = await new PermitWait(session, commands, source, {
      waitMs: 5_000,
      signal: undefined,
      maxWaiting: undefined,
      isUnlimited: false,
    }).obtain()
    await waiter.close(new Error('over'))
    expect(taken).toEqual({ value: 'it' })
    return numbers
  }

  it('stays the same while nobody answers, so that it counts once', async () => {
    expect(await obtain([NO_ANSWER, NO_ANSWER, TAKEN])).toEqual([1, 1, 1])
  })

  it('is a new one after a refusal', async () => {
    expect(await obtain([REFUSED, TAKEN])).toEqual([1, 2])
  })

  it('is a new one, at once, after a refusal that may be that of a copy from long ago (I4)', async () => {
    // The first refusal subscribes, and its confirmation is the last thing that would make it try.
    expect(await obtain([REFUSED, NO_ANSWER, REFUSED, TAKEN])).toEqual([1, 2, 2, 3])
  })
})
