import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freeClusterPort, freePort } from './free-port.js'
import { findRedisBinary } from './redis-binary.js'
import { launchRedis } from './redis-launch.js'
import type { RedisLaunch } from './redis-launch.js'
import { RedisReplyError } from '../network/resp.js'
import { roundTrip } from '../network/round-trip.js'
import type { CommandArgument } from '../network/round-trip.js'
import type { SupervisedProcess } from '../processes/supervised-process.js'

/** How to start a `RedisServer`. */
export interface RedisServerOptions {
  /** More arguments for the server, as on its command line: `['--appendonly', 'yes']`. */
  readonly args?: readonly string[]
  /** A loopback port; a free one by default. */
  readonly port?: number
  /** Server program; by default that of HOLDFAST_REDIS_SERVER, else redis-server or valkey-server from the PATH. */
  readonly binary?: string
  /** A sentinel, which monitors nothing yet, instead of a data server. */
  readonly sentinel?: boolean
}

const PORT_ATTEMPTS = 5

/** A private Redis or Valkey server on loopback, in a temporary folder that goes away with it. */
export class RedisServer {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly #launch: RedisLaunch
  #process: SupervisedProcess
  #paused = false

  private constructor(launch: RedisLaunch, process: SupervisedProcess) {
    this.port = launch.port
    this.#launch = launch
    this.#process = process
  }

  /** Resolves when the server answers PING; rejects with the server's own output when it does not start. */
  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const binary = await findRedisBinary(options.binary)
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-redis-'))
    const { args = [], sentinel = false } = options
    const choosePort = args.includes('--cluster-enabled') ? freeClusterPort : freePort
    try {
      for (let attempt = 1; ; attempt += 1) {
        const port = options.port ?? (await choosePort())
        const launch = { binary, folder, port, args, sentinel }
        try {
          return new RedisServer(launch, await launchRedis(launch))
        } catch (error) {
          // Another process may have taken the port between our look and the server's bind.
          const lostPort = /address already in use/i.test(String(error))
          if (!lostPort || options.port !== undefined || attempt === PORT_ATTEMPTS) throw error
        }
      }
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  /** `redis://127.0.0.1:<port>` */
  get url(): string {
    return `redis://${this.host}:${this.port}`
  }

  /** The server's process id; another one after a restart. */
  get pid(): number {
    return this.#process.pid
  }

  /** False while it is paused, and once it has ended in whatever way. */
  get running(): boolean {
    return this.#process.running && !this.#paused
  }

  /** The last 64 KiB of the server's log since its latest start. */
  get output(): string {
    return this.#process.output
  }

  /** SIGTERM, waits for the end, removes the folder. Safe to call again, or after `kill`. */
  async stop(): Promise<void> {
    await this.#process.terminate()
    await rm(this.#launch.folder, { recursive: true, force: true })
  }

  /** SIGKILL, as in a crash; resolves when the process is gone. `restart` brings it back. */
  kill(): Promise<void> {
    return this.#process.kill()
  }

  /** SIGSTOP; resolves when the server stands still. Connections stay open and are not answered. */
  pause(): Promise<void> {
    this.#paused = true
    return this.#process.pause()
  }

  /** SIGCONT: the server answers what piled up. */
  resume(): void {
    this.#paused = false
    this.#process.resume()
  }

  /**
   * Stops the server, unless it has ended already, and starts it on the same port. A running server takes its
   * data along; with `empty` it comes back without. After `kill` it has what its `args` made it persist:
   * nothing by default.
   */
  async restart({ empty = false }: { readonly empty?: boolean } = {}): Promise<void> {
    const persists = this.#launch.args.some((arg) => arg === '--save' || arg === '--appendonly')
    const snapshot = !empty && !persists && !this.#launch.sentinel && this.#process.running
    if (snapshot) await this.#shutdownWithSnapshot()
    else await this.#process.terminate()
    if (empty) await rm(this.#launch.folder, { recursive: true, force: true })
    this.#process = await launchRedis(this.#launch)
    this.#paused = false
    // A later crash must not bring this snapshot back.
    if (snapshot) await rm(join(this.#launch.folder, 'dump.rdb'), { force: true })
  }

  /**
   * Sends one command on a short connection of its own, for assertions. Strings come back as strings, errors
   * reject with `RedisReplyError`; no reply within 5 s rejects too.
   */
  command(...args: readonly CommandArgument[]): Promise<unknown> {
    return roundTrip(this, args)
  }

  /**
   * Calls by command (`get`, `config|set`, in lower case) since the start or `resetStats`. Commands that a
   * script calls count like those of a client; so do earlier calls of this method, under `info`.
   */
  async commandStats(): Promise<Map<string, number>> {
    const info = String(await this.command('INFO', 'commandstats'))
    const lines = info.matchAll(/^cmdstat_(.+?):calls=(\d+)/gm)
    return new Map(Array.from(lines, ([, name, calls]) => [String(name), Number(calls)]))
  }

  /** Starts the counts of `commandStats` again; this command itself stays counted. */
  async resetStats(): Promise<void> {
    await this.command('CONFIG', 'RESETSTAT')
  }

  async #shutdownWithSnapshot(): Promise<void> {
    this.#process.resume()
    // Without save points SIGTERM keeps nothing, and a SAVE before it would miss what is written in between.
    await this.command('SHUTDOWN', 'SAVE').catch((error: unknown) => {
      if (error instanceof RedisReplyError) throw error
    })
    await this.#process.exited
  }
}
