import type { Watchdog } from '@holdfast/watchdog'
import type { ContextEnds } from '../client/context-ends.js'
import type { HeldLocks } from '../client/held-locks.js'
import type { Leased } from '../client/lease-store.js'
import type { OutageReporter } from '../client/outage-reporter.js'
import type { RecentHolds } from '../client/recent-holds.js'
import type { Contexts } from '../context/ambient.js'
import type { EventHub } from '../events.js'
import type { KindServices } from '../kinds/services.js'
import type { IdleLocks } from '../pass/idle-locks.js'
import type { LocalReentry } from '../pass/local-reentry.js'
import type { ReleaseWaits } from '../runtime/release-waits.js'
import type { Yielding } from '../runtime/yielding.js'

/** The services of their client that calls and acquisitions use. */
export interface AcquireServices extends KindServices {
  readonly watchdog: Watchdog<Leased>
  readonly held: HeldLocks
  readonly recentHolds: RecentHolds
  /** Made with the first lock that may linger. */
  idleLocks: IdleLocks | null
  readonly contexts: Contexts
  readonly events: EventHub
  readonly contextEnds: ContextEnds
  readonly releaseWaits: ReleaseWaits
  readonly yielding: Yielding
  readonly localReentry: LocalReentry
  readonly outages: OutageReporter
  /** @throws ClientClosedError */
  assertOpen(lockName: string): void
  nextThreadId(): number
}
