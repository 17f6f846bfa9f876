import type { LockKind } from './diagnostics/messages.js'
import type { LockProtocol } from './locks/lock-protocol.js'

/** What an acquisition is of. */
export abstract class BoundToLock {
  constructor(readonly protocol: LockProtocol) {}

  get key(): string {
    return this.protocol.key
  }

  /** See `LockProtocol.scope`. */
  get scope(): string {
    return this.protocol.scope
  }

  get shared(): boolean {
    return this.protocol.shared
  }

  get lockName(): string {
    return this.protocol.lockName
  }

  get kind(): LockKind {
    return this.protocol.kind
  }
}
