import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'

const FAR_TOO_LONG_MS = 10_000

/**
 * The owners of the locks, by every command that Redis ran on them, inside scripts too (MONITOR). An owner that sets its
 * count again, as one does that finds itself given the lock, has taken it once. A lock that is passed on in memory is
 * taken once and given back once, whatever its field is called in between.
 */
export class Ledger {
  taken = 0
  givenBack = 0
  /** How often a count was written that was there: by a caller that is given a lock while its try is on its way. */
  repeated = 0
  renamed = 0
  /** The fields of each lock, owner to count. */
  readonly #locks: ReadonlyMap<string, Map<string, string>>
  readonly #redis: Redis
  readonly #monitor: Redis
  /** Owners whose hold is over, or goes on under the name of the next: none of them ever comes back (I2). */
  readonly #over = new Set<string>()
  readonly #violations: string[] = []
  /** The lock whose field is being renamed, and the name that has to go with the very next command on it. */
  #renaming: { readonly name: string; readonly from: string } | null = null
  #marks = 0
  #reached = 0

  private constructor(redis: Redis, monitor: Redis, names: readonly string[]) {
    this.#redis = redis
    this.#monitor = monitor
    this.#locks = new Map(names.map((name) => [name, new Map<string, string>()]))
    monitor.on('monitor', (_time: string, [command = '', ...args]: string[]) =>
      this.#saw(command.toLowerCase(), args),
    )
  }

  /**
   * To be called while nobody else talks to this Redis: ioredis takes lines of MONITOR that come with its first reply for
   * replies to other commands, and never says that it is monitoring.
   */
  static async open({ port }: { readonly port: number }, names: readonly string[]): Promise<Ledger> {
    const redis = new Redis({ port })
    try {
      await once(redis, 'ready')
      return new Ledger(redis, await redis.monitor(), names)
    } catch (error) {
      redis.disconnect()
      throw error
    }
  }

  close(): void {
    this.#monitor.disconnect()
    this.#redis.disconnect()
  }

  /** What is wrong of all that Redis has done so far, at a moment when no caller is to have a lock. */
  async atRest(): Promise<string[]> {
    await this.#catchUp()
    const held = [...this.#locks].filter(([, fields]) => fields.size > 0)
    return [
      ...this.#violations,
      // Also where its lease has ended meanwhile, or its key was deleted.
      ...held.map(
        ([name, fields]) => `${name} was never given back by ${[...fields.keys()].join(' and ')} (I8)`,
      ),
    ]
  }

  /** Until the stream has come to what Redis has done by now. */
  async #catchUp(): Promise<void> {
    const mark = (this.#marks += 1)
    await this.#redis.echo(`mark ${mark}`)
    const endsAt = performance.now() + FAR_TOO_LONG_MS
    while (this.#reached < mark) {
      if (performance.now() > endsAt) throw new Error('MONITOR has not told of a command of our own')
      await sleep(1)
    }
  }

  #saw(command: string, [name = '', ...args]: readonly string[]): void {
    if (command === 'echo') this.#reached = Number(name.split(' ')[1])
    const fields = this.#locks.get(name)
    if (!fields) return
    if (this.#renaming?.name === name) {
      const { from } = this.#renaming
      if (command !== 'hdel' || args[0] !== from)
        this.#violations.push(`${name} was taken beside ${from} (I1)`)
      this.#renaming = null
    }
    if (command === 'hset') this.#set(name, fields, args)
    else if (command === 'hdel') for (const owner of args) this.#delete(fields, owner)
    else if (/^(del|unlink|rename|hincrby|set|restore|hsetnx|hmset)$/.test(command)) {
      this.#violations.push(`no command was to ${command} ${name}`)
    }
  }

  #set(name: string, fields: Map<string, string>, [owner = '', times = '']: readonly string[]): void {
    const [from] = fields.keys()
    if (fields.has(owner)) this.repeated += 1
    else if (this.#over.has(owner)) this.#violations.push(`${owner} took ${name} when its hold was over (I2)`)
    else if (from === undefined) this.taken += 1
    // A rename writes the next name before it deletes the one there is.
    else if (isOfSameClient(owner, from)) this.#renaming = { name, from }
    else this.#violations.push(`${owner} took ${name}, which ${from} had (I1)`)
    if (times !== '1') this.#violations.push(`${owner} has ${name} ${times} times (I2)`)
    fields.set(owner, times)
  }

  #delete(fields: Map<string, string>, owner: string): void {
    if (!fields.delete(owner)) return
    this.#over.add(owner)
    if (fields.size === 0) this.givenBack += 1
    else this.renamed += 1
  }
}

const isOfSameClient = (a: string, b: string): boolean => a.split(':')[0] === b.split(':')[0]
