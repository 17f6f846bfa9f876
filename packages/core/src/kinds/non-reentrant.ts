import type { LockKind } from '../diagnostics/messages.js'
import { FairProtocol } from './fair.js'
import { PlainProtocol } from './plain.js'

// In Redis these are Redisson's RLock and RFairLock. Re-entry is refused locally: an owner is one acquisition, so
// Redis never sees a command that it could take for a re-entry.

export class NonReentrantProtocol extends PlainProtocol {
  override readonly kind: LockKind = 'non-reentrant'
  readonly refusesReentry = true
}

export class NonReentrantFairProtocol extends FairProtocol {
  override readonly kind: LockKind = 'non-reentrant-fair'
  readonly refusesReentry = true
}
