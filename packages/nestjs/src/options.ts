import type { FactoryProvider, ModuleMetadata } from '@nestjs/common'
import {
  checkOptions,
  InvalidArgumentError,
  type KnownKeys,
  type LockClient,
  type LockClientOptions,
} from '@holdfast/core'
import { lockHttpError, type LockErrorAnswers } from '@holdfast/core/http'

/** What `LocksModule` is told. All durations are milliseconds. */
export interface LocksModuleOptions {
  /**
   * A URL or options of ioredis: a connection of the module's own, which it closes. Or a client that is there, which
   * it leaves open.
   */
  readonly redis: Parameters<typeof LockClient.connect>[0]
  /** Of the client. `bareCalls` is `'throw'` here by default, because every handler has a context. */
  readonly options?: LockClientOptions | undefined
  /** How long holders have to finish when the application ends. Default 5,000. */
  readonly graceMs?: number | undefined
  /**
   * How long HTTP requests that run when the application ends have first, with all locks as before; then `graceMs`
   * begins. Default 0: what waits for a lock is refused at once.
   */
  readonly drainMs?: number | undefined
  /**
   * Answers a lock that was busy past its wait with 409 or 423, and a Redis that is down with 503, both with
   * `Retry-After`; `{}` for the defaults. Left out: such errors are answered as any other, with 500.
   */
  readonly errors?: LockErrorAnswers | undefined
}

/** What is known before the options are. */
export interface LocksModuleExtras {
  /** Of one client among several: for `InjectLocks(name)`. Left out: the one that is injected as `LockClient`. */
  readonly name?: string | undefined
}

/** The same, from elsewhere. */
export interface LocksModuleAsyncOptions extends LocksModuleExtras, Pick<ModuleMetadata, 'imports'> {
  readonly useFactory: (...args: never[]) => LocksModuleOptions | Promise<LocksModuleOptions>
  readonly inject?: FactoryProvider['inject']
}

const MODULE_OPTIONS: KnownKeys<LocksModuleOptions> = {
  redis: true,
  options: true,
  graceMs: true,
  drainMs: true,
  errors: true,
}
const ASYNC_OPTIONS: KnownKeys<LocksModuleAsyncOptions> = {
  name: true,
  imports: true,
  useFactory: true,
  inject: true,
}
const LONGEST_DRAIN_MS = 3_600_000

/** @throws InvalidArgumentError */
export function checkModuleOptions(options: LocksModuleOptions): void {
  checkOptions('options', options, MODULE_OPTIONS)
  const { drainMs, errors } = options
  checkDrain(drainMs)
  if (errors !== undefined) {
    // Else they were checked when the first lock is busy, inside rxjs, where an error ends the process.
    lockHttpError(undefined, errors)
  }
}

/** @throws InvalidArgumentError */
export function checkAsyncOptions(options: LocksModuleAsyncOptions): void {
  checkOptions('options', options, ASYNC_OPTIONS)
}

function checkDrain(drainMs: unknown): void {
  if (
    drainMs !== undefined &&
    !(typeof drainMs === 'number' && drainMs >= 0 && drainMs <= LONGEST_DRAIN_MS)
  ) {
    throw new InvalidArgumentError(
      'drainMs',
      drainMs,
      'a number of milliseconds, not negative, an hour at most',
    )
  }
}
