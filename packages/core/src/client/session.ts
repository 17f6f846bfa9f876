import type { Waiter } from '@holdfast/waiter'
import type { Watchdog } from '@holdfast/watchdog'
import type { CallReports } from '../diagnostics/call-reports.js'
import type { Contexts } from '../context/ambient.js'
import type { Background } from '../runtime/background.js'
import type { EventHub } from '../events.js'
import type { FairQueue } from '../kinds/fair-queue.js'
import type { ForeignLooks } from '../kinds/foreign-looks.js'
import type { GrantedLocks } from '../pass/granted-locks.js'
import type { GrantReceiver } from '../pass/grants.js'
import type { IdleLocks } from '../pass/idle-locks.js'
import type { LocalReentry } from '../pass/local-reentry.js'
import type { ContextEnds } from './context-ends.js'
import type { HeldLocks } from './held-locks.js'
import type { Leased } from './lease-store.js'
import type { ResolvedOptions } from '../options.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { OutageReporter } from './outage-reporter.js'
import type { LastSeenHolders } from '../diagnostics/last-holders.js'
import type { RedisPort } from '../redis/redis-port.js'
import type { ReleaseWaits } from '../runtime/release-waits.js'
import type { Yielding } from '../runtime/yielding.js'
import type { PlainLockQueue } from '../pass/plain-queue.js'
import type { RecentHolds } from './recent-holds.js'
import type { BorrowedPermits } from './borrowed-permits.js'
import type { Runtime } from '../runtime/runtime.js'
import type { MissingSemaphores } from '../diagnostics/reports.js'

/** The services shared by the parts of one client. Created by LockClient, the only place that knows the wiring. */
export interface Session {
  readonly clientId: string
  readonly options: ResolvedOptions
  readonly keyPrefix: string
  readonly runtime: Runtime
  readonly runner: ScriptRunner
  readonly port: RedisPort
  readonly watchdog: Watchdog<Leased>
  readonly waiter: Waiter
  readonly fairQueue: FairQueue
  readonly plainQueue: PlainLockQueue | null
  readonly recentHolds: RecentHolds
  /** Made with the first lock that may linger. */
  idleLocks: IdleLocks | null
  readonly foreignLooks: ForeignLooks
  readonly grantReceiver: GrantReceiver
  readonly grantedLocks: GrantedLocks
  readonly lastHolders: LastSeenHolders
  readonly releaseWaits: ReleaseWaits
  readonly yielding: Yielding
  readonly localReentry: LocalReentry
  readonly contexts: Contexts
  readonly events: EventHub
  readonly reports: CallReports
  readonly missingSemaphores: MissingSemaphores
  readonly held: HeldLocks
  readonly borrowedPermits: BorrowedPermits
  readonly contextEnds: ContextEnds
  readonly outages: OutageReporter
  /** Aborts when the client starts closing: ends waits outside the client's own queues. */
  readonly closing: AbortSignal
  /** Aborts when the client abandons all commands and retries still under way. */
  readonly abandoned: AbortSignal
  /** @throws ClientClosedError */
  assertOpen(lockName: string): void
  nextThreadId(): number
  /** Work without a waiting caller, such as releasing a late grant; `close` waits for it. */
  readonly background: Background
}
