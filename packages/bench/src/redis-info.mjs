/** The server's INFO, over a connection that no contestant uses. */
export class RedisInfo {
  #redis

  /** @param {import('ioredis').Redis} redis */
  constructor(redis) {
    this.#redis = redis
  }

  /** CPU time of the server since its start, microseconds. */
  async cpuMicros() {
    const info = await this.#fields('cpu')
    return (Number(info.get('used_cpu_user')) + Number(info.get('used_cpu_sys'))) * 1e6
  }

  /** How often the server has read from a connection since its start: it may find several commands. */
  async reads() {
    return Number((await this.#fields('stats')).get('total_reads_processed'))
  }

  /** Calls by command since the start of the server; what scripts call counts too. */
  async calls() {
    const stats = await this.#fields('commandstats')
    return new Map(
      Array.from(stats, ([name, value]) => [
        name.slice('cmdstat_'.length),
        Number(/calls=(\d+)/.exec(value)?.[1]),
      ]),
    )
  }

  /** Time in which a command ran, µs, and how often, since the start of the server. */
  async timesOf(command) {
    const value = (await this.#fields('commandstats')).get(`cmdstat_${command}`) ?? ''
    return {
      calls: Number(/calls=(\d+)/.exec(value)?.[1] ?? 0),
      micros: Number(/usec=(\d+)/.exec(value)?.[1] ?? 0),
    }
  }

  /** Name and version, as in `Redis 7.0.15`. */
  async version() {
    const info = await this.#fields('server')
    const valkey = info.get('valkey_version')
    return valkey === undefined ? `Redis ${info.get('redis_version')}` : `Valkey ${valkey}`
  }

  /** Keys whose name has this text in it. */
  async keysWith(text) {
    const found = []
    for await (const keys of this.#redis.scanStream({ match: `*${text}*`, count: 1000 })) found.push(...keys)
    return [...new Set(found)]
  }

  /** Folders left by processes that were killed. */
  async removeKeysWith(text) {
    const keys = await this.keysWith(text)
    for (let i = 0; i < keys.length; i += 1000) await this.#redis.unlink(keys.slice(i, i + 1000))
  }

  async #fields(section) {
    const lines = String(await this.#redis.info(section)).matchAll(/^([a-z_|-]+):(.*?)\r?$/gm)
    return new Map(Array.from(lines, ([, name, value]) => [name, value]))
  }
}
