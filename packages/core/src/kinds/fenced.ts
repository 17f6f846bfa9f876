import type { Answer } from '@holdfast/waiter'
import type { ForeignRule } from '../arguments/foreign-locks.js'
import type { LockKind } from '../diagnostics/messages.js'
import { tokenKey } from '../keys.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import { acquireFencedCall, getToken } from '../scripts/fenced-lock.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { KindServices } from './services.js'
import type { TokenRule } from './fenced-options.js'
import type { HoldChange, AcquireTerms } from '../entry/entry-commands.js'
import { SingleOwnerProtocol } from './single-owner.js'

/**
 * Redisson's RFencedLock: an RLock, and a counter beside it that every acquisition increments. So it is neither granted nor
 * passed on: every acquisition needs a token from Redis.
 */
export class FencedProtocol extends SingleOwnerProtocol {
  readonly kind: LockKind = 'fenced'
  readonly tokenKey: string

  constructor(
    session: KindServices,
    lockName: string,
    foreignLocks: ForeignRule,
    /** How its tokens are counted. */
    readonly rule: TokenRule,
  ) {
    super(session, lockName, foreignLocks)
    this.tokenKey = tokenKey(this.key)
  }

  /** Only a first acquire increments the counter: a re-entry has the token of its acquisition. */
  override acquire<T>(
    change: HoldChange,
    terms: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Answer<T> {
    if (change.holds > 1) {
      return super.acquire(change, terms, handler)
    }
    const { lockName, key, tokenKey } = this
    const { leaseMs, note } = terms
    const command = { ...this.argumentsOf(change), lockName, key, leaseMs, note, tokenKey, ...this.rule }
    return this.session.runner.ask(acquireFencedCall(command), handler)
  }

  latestToken(): Promise<string> {
    const { lockName, key, tokenKey } = this
    return getToken(this.session.runner, { lockName, key, tokenKey })
  }
}
