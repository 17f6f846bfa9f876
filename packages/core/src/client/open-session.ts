import { Waiter } from '@holdfast/waiter'
import { Watchdog } from '@holdfast/watchdog'
import { ContextEnds } from './context-ends.js'
import { SelfWaits } from '../diagnostics/self-waits.js'
import { Background } from '../runtime/background.js'
import { Contexts } from '../context/ambient.js'
import { ClientClosedError } from '../errors.js'
import { controllerOfMany, EventHub } from '../events.js'
import { RejoinBatcher } from '../pass/rejoin-batch.js'
import { FairQueue, type FairQueueParts } from '../kinds/fair-queue.js'
import { GrantedLocks } from '../pass/granted-locks.js'
import { GrantReceiver } from '../pass/grants.js'
import { IdleLocks, type IdleLocksParts } from '../pass/idle-locks.js'
import { LocalReentry } from '../pass/local-reentry.js'
import { HeldLocks } from './held-locks.js'
import { RedisLeaseStore, type Leased } from './lease-store.js'
import type { ResolvedOptions } from '../options.js'
import type { PrimaryVerdict, RedisPort } from '../redis/redis-port.js'
import { ScriptRunner } from '../redis/script-runner.js'
import { CallOrigins } from '../diagnostics/call-origins.js'
import { CallReports, type CallReportsParts } from '../diagnostics/call-reports.js'
import { OutageReporter } from './outage-reporter.js'
import { ForeignLooks } from '../kinds/foreign-looks.js'
import { LastSeenHolders } from '../diagnostics/last-holders.js'
import { ReleaseWaits } from '../runtime/release-waits.js'
import { Yielding } from '../runtime/yielding.js'
import { missingSemaphores, unexpectedReplies } from '../diagnostics/reports.js'
import { FormerPrimary } from './former-primary.js'
import { askServer } from './server-check.js'
import { ProcessKeeper } from './process-keeper.js'
import { RecentHolds } from './recent-holds.js'
import { PlainLockQueue } from '../pass/plain-queue.js'
import { BorrowedPermits } from './borrowed-permits.js'
import { afterAnswers, randomHex, systemRuntime, type Clock } from '../runtime/runtime.js'
import { WaitReporter } from '../diagnostics/wait-reporter.js'

// The first script after a pause finds Redis's caches cold, and takes two to three times as long.
const SCRIPTS_IN_A_ROW = 32

/** The services that the parts of one client share, and controls for its client only. */
export type OpenSession = Lifecycle & ReturnType<typeof servicesOf>

/** Puts a client together: the only place that knows the wiring. */
export function openSession(port: RedisPort, options: ResolvedOptions): OpenSession {
  const life = lifecycle()
  const session = { ...servicesOf(port, options, life), ...life }
  watchPrimaries(session)
  return session
}

function servicesOf(port: RedisPort, options: ResolvedOptions, life: Lifecycle) {
  const { runtime, background, lockWatchdogTimeout, resyncInterval, unavailableTimeoutMs } = options
  const random = (): number => runtime.random()
  const events = new EventHub()
  const clientId = `${options.clientName}~${runtime.id()}`
  const leases = new RedisLeaseStore(() => runner, lockWatchdogTimeout, clientId, background)
  const watchdog = watchdogOf(leases, port, options)
  // After a pause of the process, replies and deadlines may be handled before the watchdog's timer: trust that has
  // run out meanwhile must end before any caller resumes (I3).
  const beforeResume = watchdog.endOverdueTrust
  const formerPrimary = new FormerPrimary(watchdog, background)
  const runner = new ScriptRunner(port, background, {
    commandTimeoutMs: options.commandTimeout,
    batchSize: options.commandBatchSize,
    beforeResume,
    demoted: () => formerPrimary.refused(),
    begun: () => processKeeper?.begin(),
    unexpected: unexpectedReplies(events),
    replicas: options.replicas,
  })
  const waiter = new Waiter(port.messages, {
    clock: runtime,
    random,
    resyncIntervalMs: resyncInterval,
    unavailableTimeoutMs,
    afterAnswers: (delayMs, fire) => afterAnswers(runtime, delayMs, fire, () => delayMs),
  })
  const services = { clientId, options, keyPrefix: port.keyPrefix, runtime, runner, watchdog, waiter }
  const held = new HeldLocks()
  const origins = new CallOrigins()
  const grantReceiver = new GrantReceiver({ waiter, clock: runtime, beforeResume })
  const queues = waitingInRedis({ clientId, runner, waiter, runtime, grantReceiver, held }, options)
  const reports = reportsOf({ clientId, events, origins, held, background, beforeResume, ...queues }, options)
  const borrowedPermits = new BorrowedPermits()
  const isUsed = (): boolean =>
    !held.isEmpty || !borrowedPermits.isEmpty || waiter.size > 0 || life.background.size > 0
  // The clock of the process, also under a test's own: only its timers keep the process alive.
  const processKeeper: ProcessKeeper | null =
    port.isUnreferenced === true ? new ProcessKeeper(systemRuntime, () => !isUsed() && runner.rest()) : null
  port.onLeft?.(() => formerPrimary.left())
  return {
    ...services,
    serverAsked: askServer({ port, runner, ...life }),
    held,
    grantReceiver,
    ...queues,
    port,
    borrowedPermits,
    processKeeper,
    events,
    reports,
    contexts: new Contexts(),
    missingSemaphores: missingSemaphores(events, background),
    releaseWaits: new ReleaseWaits(background, options.releaseWaitMs, beforeResume, () =>
      runner.resumedGoOn(),
    ),
    yielding: new Yielding(runtime),
    localReentry: new LocalReentry({ runtime, background: life.background }),
    idleLocks: null as IdleLocks | null,
    contextEnds: new ContextEnds({ origins, runtime, ...life }, options.onContextEnd, options.graceMs),
    outages: new OutageReporter({ port, events, clock: background, held, borrowedPermits, beforeResume }),
  }
}

/** Called when a lock is made that may linger: most clients have none, and keep nothing. */
export function keepIdleLocks(session: IdleLocksParts & { idleLocks: IdleLocks | null }): void {
  session.idleLocks ??= new IdleLocks(session)
}

/** A new primary may lack what the old one acknowledged: affected leases are verified with it. */
function watchPrimaries(session: OpenSession): void {
  const { port, watchdog, events, runtime } = session
  port.onPrimary((verdict) => {
    const since = runtime.now()
    const conclude = (isAffected: PrimaryVerdict): void => {
      if (isAffected) {
        const doubted = watchdog.doubt((lease) => isAffected(lease.key), since)
        events.emit('primary-changed', { doubted })
      }
    }
    session.background.run(Promise.resolve(verdict).then(conclude))
  })
}

function waitingInRedis(
  parts: Pick<FairQueueParts, 'clientId' | 'runner' | 'waiter' | 'runtime' | 'grantReceiver'> & {
    readonly held: HeldLocks
  },
  options: ResolvedOptions,
) {
  const { lockWatchdogTimeout, localPassing, pushedGrants, replicas, heartbeatMs } = options
  const lastHolders = new LastSeenHolders(parts.clientId, parts.runtime, lockWatchdogTimeout)
  // A grant known only to the primary must not be used when replicas count.
  const takesGrants = pushedGrants && !replicas
  // A grant is a lease for an owner that may be dead: no longer than any other lease.
  const longestMs = Math.ceil(Math.min(2 * heartbeatMs, lockWatchdogTimeout))
  const rejoins = localPassing && takesGrants ? new RejoinBatcher(parts) : null
  // Longer, and the liveness entry exceeds 64 bytes, above which Redis stores the hash less compactly.
  const nonce = randomHex(parts.runtime, 12)
  return {
    lastHolders,
    foreignLooks: new ForeignLooks(parts.runner),
    recentHolds: new RecentHolds(parts),
    fairQueue: new FairQueue({ ...parts, nonce, lastHolders, heartbeatMs, takesGrants, rejoins }),
    grantedLocks: new GrantedLocks({
      runner: parts.runner,
      clock: options.background,
      pauseMs: options.resyncInterval,
      patienceMs: lockWatchdogTimeout,
      longestMs,
    }),
    plainQueue: takesGrants ? new PlainLockQueue({ ...parts, aliveForMs: longestMs }) : null,
  }
}

function watchdogOf(
  leases: RedisLeaseStore,
  port: RedisPort,
  { background: clock, runtime, watchdogBatchSize: batchSize }: ResolvedOptions,
): Watchdog<Leased> {
  const random = (): number => runtime.random()
  // On a cluster every slot has a script of its own: one moment brings many as it is.
  return new Watchdog(leases, { clock, random, batchSize, batchesInARow: port.slotOf ? 1 : SCRIPTS_IN_A_ROW })
}

function reportsOf(
  parts: Pick<CallReportsParts, 'clientId' | 'events' | 'origins' | 'lastHolders'> & {
    readonly held: HeldLocks
    readonly background: Clock
    readonly beforeResume: () => void
  },
  { bareCalls, onContextEnd, waitingThreshold }: ResolvedOptions,
): CallReports {
  const { events, origins, held, background, beforeResume } = parts
  return new CallReports({
    ...parts,
    tellsOrigins: bareCalls !== 'allow' || onContextEnd === 'warn',
    waits: new WaitReporter(events, background, waitingThreshold, beforeResume),
    selfWaits: new SelfWaits(held, origins, background, bareCalls !== 'allow'),
  })
}

interface Lifecycle {
  /** Work without a waiting caller, such as releasing a late grant; `close` waits for it. */
  readonly background: Background
  /** Aborts when the client starts closing: ends waits outside the client's own queues. */
  readonly closing: AbortSignal
  /** Aborts when the client abandons all commands and retries still under way. */
  readonly abandoned: AbortSignal
  /** @throws ClientClosedError */
  assertOpen(lockName: string): void
  nextThreadId(): number
  refuseNewCalls(): void
  abandonEverything(): void
}

function lifecycle(): Lifecycle {
  // Every retry during an outage adds listeners: many listeners are no leak here.
  const [closing, abandoning] = [controllerOfMany(), controllerOfMany()]
  const background = new Background()
  let threads = 0
  return {
    background,
    closing: closing.signal,
    abandoned: abandoning.signal,
    assertOpen(lockName) {
      if (closing.signal.aborted) {
        throw new ClientClosedError(lockName)
      }
    },
    nextThreadId: () => (threads += 1),
    refuseNewCalls: () => closing.abort(new ClientClosedError()),
    abandonEverything: () => abandoning.abort(),
  }
}
