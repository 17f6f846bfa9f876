import type { GrantReceiver } from '../pass/grants.js'
import type { GrantedLocks } from '../pass/granted-locks.js'
import type { PassServices } from '../pass/local-pass.js'
import type { PlainLockQueue } from '../pass/plain-queue.js'
import type { Waiter } from '@holdfast/waiter'
import type { CallReports } from '../diagnostics/call-reports.js'
import type { LastSeenHolders } from '../diagnostics/last-holders.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { FairQueue } from './fair-queue.js'
import type { ForeignLooks } from './foreign-looks.js'

/** The services of their client that the kinds of locks use. */
export interface KindServices extends PassServices {
  readonly clientId: string
  readonly keyPrefix: string
  readonly runner: ScriptRunner
  readonly waiter: Waiter
  readonly reports: CallReports
  readonly lastHolders: LastSeenHolders
  readonly fairQueue: FairQueue
  readonly foreignLooks: ForeignLooks
  /** Null: the client takes no grants. */
  readonly plainQueue: PlainLockQueue | null
  readonly grantReceiver: GrantReceiver
  readonly grantedLocks: GrantedLocks
}
