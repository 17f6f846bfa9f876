import type { Waiter } from '@holdfast/waiter'
import type { Watchdog } from '@holdfast/watchdog'
import type { CallDefaults } from '../acquire/acquire-options.js'
import type { BorrowedPermits } from '../client/borrowed-permits.js'
import type { Leased } from '../client/lease-store.js'
import type { OutageReporter } from '../client/outage-reporter.js'
import type { MissingSemaphores } from '../diagnostics/reports.js'
import type { CallReports } from '../diagnostics/call-reports.js'
import type { EventHub } from '../events.js'
import type { RedisPort } from '../redis/redis-port.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { RetryServices } from '../redis/until-known.js'
import type { Background } from '../runtime/background.js'
import type { ReleaseWaits } from '../runtime/release-waits.js'
import type { ContextsAround } from './wait-limits.js'

/** The services of their client that semaphores and latches use. */
export interface SynchronizerServices extends RetryServices {
  readonly clientId: string
  readonly keyPrefix: string
  readonly port: RedisPort
  readonly options: CallDefaults & {
    readonly waitMs: number | undefined
    readonly lockWatchdogTimeout: number
    readonly commandTimeout: number
    readonly unavailableTimeoutMs: number
    /** undefined: leases count without replicas. */
    readonly replicas: object | undefined
  }
  readonly runner: ScriptRunner
  readonly waiter: Waiter
  readonly watchdog: Watchdog<Leased>
  readonly contexts: ContextsAround
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
