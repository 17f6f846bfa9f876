import type { Waiter } from '@holdfast/waiter'
import type { Watchdog } from '@holdfast/watchdog'
import type { BorrowedPermits } from '../client/borrowed-permits.js'
import type { Leased } from '../client/lease-store.js'
import type { OutageReporter } from '../client/outage-reporter.js'
import type { Contexts } from '../context/ambient.js'
import type { MissingSemaphores } from '../diagnostics/reports.js'
import type { CallReports } from '../diagnostics/call-reports.js'
import type { EventHub } from '../events.js'
import type { ResolvedOptions } from '../options.js'
import type { RedisPort } from '../redis/redis-port.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { RetryServices } from '../redis/until-known.js'
import type { Background } from '../runtime/background.js'
import type { ReleaseWaits } from '../runtime/release-waits.js'

/** The services of their client that semaphores and latches use. */
export interface SynchronizerServices extends RetryServices {
  readonly clientId: string
  readonly keyPrefix: string
  readonly port: RedisPort
  readonly options: ResolvedOptions
  readonly runner: ScriptRunner
  readonly waiter: Waiter
  readonly watchdog: Watchdog<Leased>
  readonly contexts: Contexts
  readonly borrowedPermits: BorrowedPermits
  readonly events: EventHub
  readonly reports: CallReports
  readonly missingSemaphores: MissingSemaphores
  readonly outages: OutageReporter
  readonly releaseWaits: ReleaseWaits
  readonly background: Background
  /** @throws ClientClosedError */
  assertOpen(lockName: string): void
}
