import {
  Inject,
  Module,
  RequestMethod,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type MiddlewareConsumer,
  type NestModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common'
import { APP_INTERCEPTOR, DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { LockClient } from '@holdfast/core'
import { provideLocks } from '@holdfast/core/decorators'
import { expressLocks } from '@holdfast/core/http'
import { ContextInterceptor } from './context-interceptor.js'
import { beginCampaigns } from './leader.js'
import { LocksHealthIndicator } from './locks-health-indicator.js'
import { RunningRequests } from './running-requests.js'
import {
  checkAsyncOptions,
  checkModuleOptions,
  type LocksModuleAsyncOptions,
  type LocksModuleExtras,
  type LocksModuleOptions,
} from './options.js'
import { CLIENT, EXTRAS, OPTIONS, getLocksToken } from './tokens.js'

/**
 * Provides one client for the whole application, as `LockClient`, or several with names. The module is global.
 * Redisson-style calls outside contexts are rejected (`bareCalls: 'throw'`), because every handler has a context.
 */
@Module({})
export class LocksModule
  implements NestModule, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly takeBack: (() => void) | undefined
  private closing: Promise<void> | undefined
  private readonly requests = new RunningRequests()

  /** Takes what the module provides. Called by Nest. */
  constructor(
    @Inject(CLIENT) private readonly locks: LockClient,
    @Inject(OPTIONS) private readonly options: LocksModuleOptions,
    @Inject(EXTRAS) private readonly extras: LocksModuleExtras,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
  ) {
    // A named client is only for code that asks for it by name.
    this.takeBack = extras.name === undefined ? provideLocks(locks) : undefined
  }

  /**
   * Provides a client that is made of these options.
   * @param options the Redis target and the client's options; `name` for one client among several
   */
  static forRoot(options: LocksModuleOptions & LocksModuleExtras): DynamicModule {
    const { name, ...rest } = options
    return describe({ name }, [{ provide: OPTIONS, useValue: rest }])
  }

  /** Provides a client that is made of options from a factory. @throws InvalidArgumentError */
  static forRootAsync(options: LocksModuleAsyncOptions): DynamicModule {
    checkAsyncOptions(options)
    const { name, imports = [], useFactory, inject = [] } = options
    return describe({ name }, [{ provide: OPTIONS, useFactory, inject }], imports)
  }

  /**
   * Applies the middleware that opens contexts, so that guards also run in the request's context, with its signal.
   * Called by Nest.
   */
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply(this.requests.middleware, expressLocks(this.locks))
      .forRoutes({ path: '{*path}', method: RequestMethod.ALL })
  }

  /** Begins the campaigns of methods with `@Leader`, which end with the client. Called by Nest. @throws InvalidArgumentError */
  onApplicationBootstrap(): void {
    beginCampaigns(this.locks, this.extras.name, this.discovery)
  }

  /**
   * Closes the client before the server stops listening, after running requests, at most `drainMs`: a request that
   * waits for a lock would keep the server from closing. Called by Nest. Never rejects.
   */
  async beforeApplicationShutdown(): Promise<void> {
    const { graceMs, drainMs = 0 } = this.options
    await this.requests.drained(drainMs)
    this.closing = this.locks.close({ graceMs })
    // Awaited in onApplicationShutdown; until then a rejection must not count as unhandled.
    this.closing.catch(() => undefined)
  }

  /**
   * Waits until the client is closed, at most `graceMs` and a release. Called by Nest.
   * @throws as `LockClient.close`
   */
  async onApplicationShutdown(): Promise<void> {
    await this.closing
    this.takeBack?.()
  }
}

function describe(
  extras: LocksModuleExtras,
  options: Provider[],
  imports: DynamicModule['imports'] = [],
): DynamicModule {
  const token = getLocksToken(extras.name)
  return {
    module: LocksModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [
      ...options,
      { provide: EXTRAS, useValue: extras },
      { provide: token, useFactory: connect, inject: [OPTIONS] },
      { provide: CLIENT, useExisting: token },
      {
        provide: APP_INTERCEPTOR,
        useFactory: (locks: LockClient, { errors }: LocksModuleOptions) =>
          new ContextInterceptor(locks, errors),
        inject: [CLIENT, OPTIONS],
      },
      { provide: LocksHealthIndicator, useFactory: healthOf, inject: [CLIENT] },
    ],
    exports: [token, LocksHealthIndicator],
  }
}

const healthOf = (locks: LockClient): LocksHealthIndicator => new LocksHealthIndicator(locks)

async function connect(given: LocksModuleOptions): Promise<LockClient> {
  // First: a connection opened before invalid options are rejected would keep the process alive.
  checkModuleOptions(given)
  const { redis, options = {} } = given
  const { bareCalls = 'throw' } = options
  return LockClient.connect(redis, { ...options, bareCalls })
}
