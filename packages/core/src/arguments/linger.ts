import { InvalidArgumentError } from '../errors.js'
import { checkDuration } from './validate.js'

/** The bound of passing a lock on inside a process, which is fair even to a process that polls. */
const LONGEST_MS = 5
/** Where only Holdfast's clients use the locks, all of which agree. */
const LONGEST_AMONG_HOLDFAST_MS = 50

interface LingerRules {
  readonly interop: 'redisson' | 'none'
  readonly localPassing: boolean
  readonly replicas: unknown
}

/** @throws InvalidArgumentError */
export function checkLinger(value: unknown, { interop, localPassing, replicas }: LingerRules): void {
  checkDuration('lingerMs', value, 'zero')
  const mostMs = interop === 'none' ? LONGEST_AMONG_HOLDFAST_MS : LONGEST_MS
  if (typeof value !== 'number' || value === 0) {
    return
  }
  if (value > mostMs) {
    const more = interop === 'none' ? '' : `, or ${LONGEST_AMONG_HOLDFAST_MS} with interop: 'none'`
    throw new InvalidArgumentError(
      'lingerMs',
      value,
      `at most ${mostMs} ms${more}: others have to wait for so long`,
    )
  }
  if (!localPassing || replicas) {
    const because = replicas ? 'with replicas' : 'with localPassing: false'
    throw new InvalidArgumentError('lingerMs', value, `left out ${because}: every acquire asks Redis then`)
  }
}
