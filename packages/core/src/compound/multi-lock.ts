import type { LockTimeoutError } from '../errors.js'
import type { CompoundCall } from './compound-call.js'
import { CompoundLock } from './compound-lock.js'
import type { CompoundRule } from './compound-rule.js'
import { oneByOne } from './caller-queue.js'
import type { MemberHold } from './member.js'
import { takeAll } from './take-all.js'

/**
 * All of several locks, or none: of any kinds, on one Redis or several. There is no circular wait, whatever the order
 * of the locks: a caller holds nothing while it waits. Redisson's RedissonMultiLock, without its polling.
 */
export class MultiLock extends CompoundLock {
  /** @internal */
  protected readonly kind = 'multi'

  /** @internal */
  protected readonly rule: CompoundRule = {
    needed: this.members.length,
    patienceMs: Infinity,
    tooFew: ([first]) => first?.error,
  }

  /** @internal */
  protected takeMembers(call: CompoundCall): Promise<MemberHold[] | LockTimeoutError> {
    const { members } = this
    return oneByOne(call, { members, needed: members.length }, () => takeAll(call, members))
  }

  /** @internal Every member is needed: nothing can be taken again. */
  protected begun(): void {
    return undefined
  }
}
