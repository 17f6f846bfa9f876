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
import { ClientClosedError, LockClient } from '@holdfast/core'
import { provideLocks } from '@holdfast/core/decorators'
import { expressLocks } from '@holdfast/core/http'
import { ContextInterceptor } from './context-interceptor.js'
import { beginCampaigns } from './leader.js'
import { LocksHealthIndicator } from './locks-health-indicator.js'
import { RunningRequests } from './running-requests.js'
import { workersClosed } from './workers.js'
import {
  checkAsyncOptions,
  checkModuleOptions,
  type LocksModuleAsyncOptions,
  type LocksModuleExtras,
  type LocksModuleOptions,
} from './options.js'
import { CLIENT, ENDING, EXTRAS, OPTIONS, getLocksToken } from './tokens.js'

/**
 * Provides one client for the whole application, as `LockClient`, or several with names. The module is global.
 * Redisson-style calls outside contexts are rejected (`bareCalls: 'throw'`), because every handler has a context.
 */
@Module({})
export class LocksModule
  implements NestModule, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly takeBack: (() => void) | undefined
  private readonly requests = new RunningRequests()
  @Inject(ENDING) private readonly ending!: AbortController

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
      .apply(this.requests.middleware, expressLocks(this.locks, { signal: this.ending.signal }))
      .forRoutes({ path: '{*path}', method: RequestMethod.ALL })
  }

  /** Begins the campaigns of methods with `@Leader`, which end with the client. Called by Nest. @throws InvalidArgumentError */
  onApplicationBootstrap(): void {
    beginCampaigns(this.locks, this.extras.name, this.discovery, this.ending.signal)
  }

  /**
   * Ends the waits of handlers, after running requests, at most `drainMs`: one that waits for a lock would keep the server
   * from closing. Called by Nest, before that. Never rejects.
   */
  async beforeApplicationShutdown(): Promise<void> {
    await this.requests.drained(this.options.drainMs ?? 0)
    this.ending.abort(new ClientClosedError())
  }

  /**
   * Closes the client when nobody works under it: after the server, which Nest has closed, and after the workers, whose jobs
   * it waits for without a limit, as `@nestjs/bullmq` does. Then at most `graceMs` and a release. Called by Nest.
   * @throws as `LockClient.close`
   */
  async onApplicationShutdown(): Promise<void> {
    // Also where no hook of before was called.
    this.ending.abort(new ClientClosedError())
    await workersClosed(this.discovery)
    await this.locks.close({ graceMs: this.options.graceMs })
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
      { provide: ENDING, useFactory: () => new AbortController() },
      { provide: token, useFactory: connect, inject: [OPTIONS] },
      { provide: CLIENT, useExisting: token },
      {
        provide: APP_INTERCEPTOR,
        useFactory: (locks: LockClient, { errors }: LocksModuleOptions, { signal }: AbortController) =>
          new ContextInterceptor(locks, errors, signal),
        inject: [CLIENT, OPTIONS, ENDING],
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
