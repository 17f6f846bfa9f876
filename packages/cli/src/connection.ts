import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { LockClient, RedisUnavailableError, type LockClientOptions } from '@holdfast/core'
import { Cluster, Redis } from 'ioredis'

/** Options of a connection, by their names on the command line. */
export interface ConnectionOptions {
  readonly url: string
  readonly cluster?: boolean
  readonly sentinel?: string
  readonly master?: string
  readonly sentinelUser?: string
  readonly sentinelPassword?: string
  readonly keyPrefix?: string
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly insecure?: boolean
  readonly timeout: number
}

/** The options of the command line contradict each other, or cannot be meant. */
export class UsageError extends Error {}

export type AnyRedis = Redis | Cluster

interface Credentials {
  readonly username?: string
  readonly password?: string
  readonly tls?: TlsOptions
}

interface Common extends Credentials {
  readonly keyPrefix?: string
}

/** How to reach Redis: one server, the primary of a Sentinel group, or a cluster. */
export class Connection {
  private readonly opened: AnyRedis[] = []
  private readonly clients: LockClient[] = []
  private isClosed = false

  constructor(private readonly options: ConnectionOptions) {}

  /** The address that it connects to, without the password. */
  get described(): string {
    const { sentinel, master = 'mymaster' } = this.options
    return sentinel === undefined ? this.urls.map(withoutSecrets).join(',') : `${master} behind ${sentinel}`
  }

  get isCluster(): boolean {
    return this.options.cluster === true
  }

  /** How long Redis may take to answer, ms. */
  get timeoutMs(): number {
    return this.options.timeout
  }

  /** The prefix of every name in Redis. */
  get keyPrefix(): string {
    return this.options.keyPrefix ?? ''
  }

  /** A comma separates nodes of a cluster; elsewhere it may be part of a password. */
  private get urls(): string[] {
    const { url } = this.options
    return this.isCluster ? url.split(',') : [url]
  }

  /** A connection of ioredis, which `close` ends. It connects by itself. */
  redis({ keyPrefix = this.options.keyPrefix }: { keyPrefix?: string | undefined } = {}): AnyRedis {
    const redis = this.make(keyPrefix)
    // Told by the call that fails.
    redis.on('error', () => undefined)
    this.opened.push(redis)
    return redis
  }

  /**
   * A connection that answers, whatever its user may do, and takes keys as they are: without the prefix.
   * @throws RedisUnavailableError, UsageError
   */
  async ready(): Promise<AnyRedis> {
    const redis = this.redis({ keyPrefix: '' })
    const { timeout } = this.options
    let lastError: unknown
    redis.on('error', (error: unknown) => (lastError = error))
    try {
      await once(redis, 'ready', { signal: AbortSignal.timeout(timeout) })
      return redis
    } catch (error) {
      const cause = lastError ?? error
      const message = `No connection to Redis: ${(cause as Error).message}`
      throw new RedisUnavailableError(message, { outcome: 'not-sent', transient: true, cause })
    }
  }

  /** Resolves when Redis answers. @throws RedisUnavailableError, UsageError */
  async locks(options: LockClientOptions = {}): Promise<LockClient> {
    const { timeout } = this.options
    const locks = await LockClient.connect(this.redis(), {
      bareCalls: 'allow',
      onContextEnd: 'keep',
      unavailableTimeoutMs: timeout,
      commandTimeout: Math.min(3_000, timeout),
      ...options,
    })
    this.clients.push(locks)
    if (this.isClosed) {
      // It was not waited for.
      await locks.close({ graceMs: 0 })
    }
    return locks
  }

  /** Resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all(this.clients.map((locks) => locks.close({ graceMs: 0 })))
    this.opened.forEach((redis) => redis.disconnect())
  }

  private make(keyPrefix: string | undefined): AnyRedis {
    const { cluster = false, sentinel, master, sentinelUser } = this.options
    if (cluster && sentinel !== undefined) {
      throw new UsageError('--cluster and --sentinel exclude each other.')
    }
    if (sentinel === undefined && (master ?? sentinelUser) !== undefined) {
      throw new UsageError(
        '--master and --sentinel-user are for Sentinels: say where these are, with --sentinel.',
      )
    }
    const [first] = this.urls.map(parsed) as [URL]
    const common: Common = {
      ...this.credentialsOf(first),
      ...(keyPrefix !== undefined && { keyPrefix }),
    }
    if (sentinel !== undefined) {
      return this.behindSentinels(sentinel, first, common)
    }
    if (!cluster) {
      return new Redis({ host: hostOf(first), port: portOf(first), db: databaseOf(first), ...common })
    }
    const { keyPrefix: prefix, ...redisOptions } = common
    return new Cluster(
      this.urls.map((each) => nodeAt(each)),
      {
        redisOptions,
        ...(prefix !== undefined && { keyPrefix: prefix }),
        // A certificate is for the name in CLUSTER SLOTS, when that has one.
        dnsLookup: (address, found) => found(null, address),
      },
    )
  }

  private behindSentinels(sentinel: string, url: URL, common: Common): Redis {
    const sentinels = sentinel.split(',').map((each) => nodeAt(`redis://${each}`, 26_379))
    const { master: name = 'mymaster', sentinelUser, sentinelPassword = '' } = this.options
    const { tls } = common
    return new Redis({
      ...{ sentinels, name, db: databaseOf(url), failoverDetector: true },
      ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
      ...(sentinelUser !== undefined && { sentinelUsername: sentinelUser }),
      ...(sentinelPassword !== '' && { sentinelPassword }),
      ...common,
    })
  }

  private credentialsOf(url: URL): Credentials {
    const { username, password } = url
    return {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...this.tlsOf(url),
    }
  }

  private tlsOf(url: URL): Pick<Credentials, 'tls'> {
    const { ca, cert, key, insecure = false } = this.options
    const isSecure = url.protocol === 'rediss:' || url.protocol === 'valkeys:'
    const isWanted = ca !== undefined || cert !== undefined || key !== undefined || insecure
    if (!isSecure) {
      if (isWanted) {
        throw new UsageError(
          '--ca, --cert, --key and --insecure are for TLS: the URL must begin with rediss://.',
        )
      }
      return {}
    }
    return {
      tls: {
        ...(ca !== undefined && { ca: textOf('--ca', ca) }),
        ...(cert !== undefined && { cert: textOf('--cert', cert) }),
        ...(key !== undefined && { key: textOf('--key', key) }),
        ...(insecure && { rejectUnauthorized: false }),
      },
    }
  }
}

const SCHEMES = new Set(['redis:', 'rediss:', 'valkey:', 'valkeys:'])

function parsed(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !SCHEMES.has(url.protocol)) {
    throw new UsageError(
      'The URL must be like redis://user:password@host:6379/0, or rediss:// for TLS: give it as --url or REDIS_URL.',
    )
  }
  return url
}

/** Where a URL leads, as it may be shown: whatever its user and password hold. */
function withoutSecrets(text: string): string {
  const { protocol, host, pathname } = parsed(text)
  return `${protocol}//${host}${pathname}`
}

function hostOf({ hostname }: URL): string {
  return hostname === '' ? '127.0.0.1' : hostname.replaceAll(/^\[|\]$/g, '')
}

function portOf({ port }: URL, usual = 6_379): number {
  return port === '' ? usual : Number(port)
}

function databaseOf({ pathname }: URL): number {
  const text = pathname.slice(1)
  if (!/^\d*$/.test(text)) {
    throw new UsageError(`The path of the URL is the number of a database; got ${JSON.stringify(text)}.`)
  }
  return Number(text)
}

function nodeAt(text: string, usualPort?: number): { host: string; port: number } {
  const url = parsed(text)
  return { host: hostOf(url), port: portOf(url, usualPort) }
}

function textOf(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${option}: ${(error as Error).message}`)
  }
}
