import type { LockKind } from '../diagnostics/messages.js'
import { FairProtocol } from './fair.js'
import { ReentrantProtocol } from './reentrant.js'

// In Redis they are what Redisson's RLock and RFairLock are. Who has the lock already is known here: an owner is one
// acquisition, so no command of another could be taken for its re-entry.

export class NonReentrantProtocol extends ReentrantProtocol {
  override readonly kind: LockKind = 'non-reentrant'
  readonly refusesReentry = true
}

export class NonReentrantFairProtocol extends FairProtocol {
  override readonly kind: LockKind = 'non-reentrant-fair'
  readonly refusesReentry = true
}
