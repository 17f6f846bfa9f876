import type { DiscoveryService } from '@nestjs/core'
import { InvalidArgumentError, type LockClient } from '@holdfast/core'
import { checkOptions, type KnownKeys } from '@holdfast/core/siblings'
import { getElection, type ElectionOptions, type Term } from '@holdfast/core/election'
import type { LocksModuleExtras } from './options.js'
import { EXTRAS } from './tokens.js'

/** The options of `@Leader`. All durations are milliseconds. */
export interface LeaderOptions extends ElectionOptions {
  /** The name of the election, and of its lock. Default: class and method, `Billing.run`. */
  readonly name?: string | undefined
  /** The name of the module's client, if there are several. Default: the client injected as `LockClient`. */
  readonly client?: string | undefined
}

const LEADER_OPTIONS: KnownKeys<LeaderOptions> = {
  name: true,
  client: true,
  data: true,
  leaseMs: true,
  graceMs: true,
  lossGraceMs: true,
  tokens: true,
  onError: true,
}

/** A method that runs while its process leads. */
export type LeaderMethod = (term: Term) => unknown

/** A decorator for TypeScript's `experimentalDecorators`, which Nest requires. */
export type LeaderDecorator = <M extends LeaderMethod>(
  prototype: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => TypedPropertyDescriptor<M>

const LEADERS = Symbol.for('holdfast.nestjs.leaders')

interface Candidature {
  readonly method: string | symbol
  readonly options: LeaderOptions
}

interface Host {
  readonly [LEADERS]?: readonly Candidature[]
}

/**
 * Runs a method of a provider or controller while this process leads: it campaigns from the start of the application to its
 * shutdown, which ends the term first. The method gets the term; see `Election.lead` for what its end means.
 * @throws InvalidArgumentError at once for invalid options, and when the application starts for those that do not fit the client
 */
export function Leader(options: LeaderOptions = {}): LeaderDecorator {
  checkOptions('options', options, LEADER_OPTIONS)
  const { client } = options
  if (client !== undefined && typeof client !== 'string') {
    throw new InvalidArgumentError('client', client, 'the name of a client of LocksModule')
  }
  return (prototype, method, descriptor) => {
    if (typeof descriptor.value !== 'function' || typeof prototype === 'function') {
      throw new InvalidArgumentError('@Leader', descriptor.value, 'on an instance method of a class')
    }
    const before = (prototype as Host)[LEADERS] ?? []
    // Its own list: a subclass must not add to that of its parent.
    Object.defineProperty(prototype, LEADERS, { value: [...before, { method, options }], configurable: true })
    return descriptor
  }
}

/**
 * Begins the campaigns of all objects that Nest has made, for one client.
 * @param client its name; undefined: the client injected as `LockClient`
 * @param signal ends them
 * @throws InvalidArgumentError also for a campaign with a client that no module provides: it would never begin
 */
export function beginCampaigns(
  locks: LockClient,
  client: string | undefined,
  discovery: Pick<DiscoveryService, 'getProviders' | 'getControllers'>,
  signal: AbortSignal,
): void {
  const hosts = new Set<object>()
  const clients = new Set<string | undefined>()
  for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const instance: unknown = wrapper.instance
    if (wrapper.token === EXTRAS) {
      clients.add((instance as LocksModuleExtras).name)
    }
    // An object of a request or of another scope is none that lasts.
    if (typeof instance === 'object' && instance !== null && wrapper.isDependencyTreeStatic()) {
      hosts.add(instance)
    }
  }
  const all = [...hosts].flatMap((host) =>
    ((host as Host)[LEADERS] ?? []).map((candidature) => ({ host, candidature })),
  )
  for (const { host, candidature } of all) {
    if (!clients.has(candidature.options.client)) {
      throw unknownClient(host, candidature, clients)
    }
  }
  for (const { host, candidature } of all) {
    if (candidature.options.client === client) {
      campaign(locks, host, candidature, signal)
    }
  }
}

function unknownClient(
  host: object,
  { method, options }: Candidature,
  clients: ReadonlySet<string | undefined>,
): InvalidArgumentError {
  const provided = [...clients].map((name) => (name === undefined ? 'the one without a name' : `"${name}"`))
  const where = `@Leader on ${host.constructor.name}.${String(method)}`
  const rule = `a client that LocksModule provides, ${provided.join(' or ')}, for ${where}`
  return new InvalidArgumentError('client', options.client, rule)
}

function campaign(
  locks: LockClient,
  host: object,
  { method, options }: Candidature,
  signal: AbortSignal,
): void {
  const { name, data, leaseMs, graceMs, lossGraceMs, tokens, onError } = options
  const work = (host as Record<string | symbol, LeaderMethod>)[method]
  const methodName = typeof method === 'symbol' ? (method.description ?? '') : method
  const election = getElection(locks, name ?? `${host.constructor.name}.${methodName}`, {
    ...{ data, leaseMs, graceMs, lossGraceMs, tokens, onError },
  })
  election
    .lead((term) => work?.call(host, term), { signal })
    .catch((error: unknown) => {
      // An error that no later try would change, such as something else under the name: without a word nobody would lead.
      const report = onError ?? ((reason: unknown) => process.emitWarning(reason as Error))
      report(error)
    })
}
