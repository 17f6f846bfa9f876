import {
  Inject,
  Module,
  RequestMethod,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type MiddlewareConsumer,
  type NestModule,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common'
import { APP_INTERCEPTOR } from '@nestjs/core'
import { LockClient } from '@holdfast/core'
import { provideLocks } from '@holdfast/core/decorators'
import { expressLocks } from '@holdfast/core/http'
import { ContextInterceptor } from './context-interceptor.js'
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
 * One client for the whole application, as `LockClient`; several, each with its name. The module is global. Calls of
 * Redisson's face outside contexts are refused (`bareCalls: 'throw'`), because every handler has a context.
 */
@Module({})
export class LocksModule implements NestModule, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly takeBack: (() => void) | undefined
  private closing: Promise<void> | undefined
  private readonly requests = new RunningRequests()

  constructor(
    @Inject(CLIENT) private readonly locks: LockClient,
    @Inject(OPTIONS) private readonly options: LocksModuleOptions,
    @Inject(EXTRAS) { name }: LocksModuleExtras,
  ) {
    // Those of a name are for whoever asks for them by it.
    this.takeBack = name === undefined ? provideLocks(locks) : undefined
  }

  /** @param options where Redis is, and how to use it; `name` for one client among several */
  static forRoot(options: LocksModuleOptions & LocksModuleExtras): DynamicModule {
    const { name, ...rest } = options
    return describe({ name }, [{ provide: OPTIONS, useValue: rest }])
  }

  /** The same with options that something else provides. */
  static forRootAsync(options: LocksModuleAsyncOptions): DynamicModule {
    checkAsyncOptions(options)
    const { name, imports = [], useFactory, inject = [] } = options
    return describe({ name }, [{ provide: OPTIONS, useFactory, inject }], imports)
  }

  /** Around guards, too: the context and the signal of a request. */
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply(this.requests.middleware, expressLocks(this.locks))
      .forRoutes({ path: '{*path}', method: RequestMethod.ALL })
  }

  /** Before the server stops listening: a request that waits for a lock would keep it from that for ever. */
  async beforeApplicationShutdown(): Promise<void> {
    const { graceMs, drainMs = 0 } = this.options
    await this.requests.drained(drainMs)
    this.closing = this.locks.close({ graceMs })
    // Awaited below; until then nobody else hears of it.
    this.closing.catch(() => undefined)
  }

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
    imports,
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
  // First: a connection that was opened for options that are refused would keep the process alive.
  checkModuleOptions(given)
  const { redis, options = {} } = given
  const { bareCalls = 'throw' } = options
  return LockClient.connect(redis, { ...options, bareCalls })
}
