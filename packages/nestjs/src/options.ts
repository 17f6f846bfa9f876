import type { FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { InvalidArgumentError, type LockClient, type LockClientOptions } from '@holdfast/core'
import { checkOptions, type KnownKeys } from '@holdfast/core/siblings'
import { lockHttpError, type HttpLocksOptions } from '@holdfast/core/http'

/** The options of `LocksModule`. All durations are milliseconds. */
export interface LocksModuleOptions {
  /**
   * A URL or options of ioredis, for a connection that the module opens and closes; or an existing client, which it
   * leaves open.
   */
  readonly redis: Parameters<typeof LockClient.connect>[0]
  /** The client's options. Here the default of `bareCalls` is `'throw'`, because every handler has a context. */
  readonly options?: LockClientOptions | undefined
  /**
   * How long holders have to finish when the application shuts down, after its requests and the jobs of its BullMQ workers.
   * Default 5,000.
   */
  readonly graceMs?: number | undefined
  /**
   * How long running HTTP requests may continue at shutdown, with full use of locks, before `graceMs` begins. Default
   * 0: waits for locks are rejected at once.
   */
  readonly drainMs?: number | undefined
  /**
   * Answers a lock that was still busy at the end of the wait with 409 or 423, and an unreachable Redis with 503,
   * both with `Retry-After`; `{}` for the defaults. Default: answered like any other error, with 500.
   */
  readonly errors?: HttpLocksOptions['errors']
}

/** Options needed before the factory has run. */
export interface LocksModuleExtras {
  /**
   * Name of the client, if there are several: for `InjectLocks(name)`. Default: the client injected as `LockClient`.
   */
  readonly name?: string | undefined
}

/** The module's options, from a factory. */
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
  const { redis, drainMs, errors } = options
  if ((redis as unknown) === undefined) {
    throw new InvalidArgumentError('redis', redis, 'a URL, the options of a client, or a client')
  }
  checkDrain(drainMs)
  if (errors !== undefined) {
    // Otherwise they would be checked when the first lock is busy, inside rxjs, where an error ends the process.
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
