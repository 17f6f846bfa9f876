import { performance } from 'node:perf_hooks'
import { connect, optionsFor } from './connection.mjs'
import { quantile } from './statistics.mjs'
import { withWorkers } from './workers.mjs'

/**
 * A way to the server that takes some time, through a process of its own, for `use`.
 *
 * @template T
 * @param {{ oneWayMs: number, atMostMs: number }} how
 * @param {import('./context.mjs').Context} context
 * @param {(through: import('./context.mjs').Context, network: Network) => Promise<T>} use
 */
export const withNetwork = ({ oneWayMs, atMostMs }, context, use) =>
  withWorkers(1, { signal: context.signal, atMostMs, what: 'network' }, async ([worker]) => {
    const url = new URL(context.url)
    // The certificate of a server does not name this host.
    if (url.protocol !== 'redis:') throw new Error(`the network needs a redis:// URL, not ${url.protocol}//`)
    const { host, port } = optionsFor(context.url)
    url.port = String(await worker.call('openNetwork', { host, port, oneWayMs }))
    url.hostname = '127.0.0.1'
    return use(context.through(url.href, 'network'), new Network(worker, url.href))
  })

class Network {
  #worker
  #url

  constructor(worker, url) {
    this.#worker = worker
    this.#url = url
  }

  /** Median ms of a PING while nothing else is on the way. */
  async roundTripMs(times) {
    const redis = await connect(optionsFor(this.#url, false))
    try {
      const ms = []
      for (let i = 0; i < times; i += 1) {
        const from = performance.now()
        await redis.ping()
        ms.push(performance.now() - from)
      }
      return quantile(ms, 0.5)
    } finally {
      redis.disconnect()
    }
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<{ result: T, part: number }>} with the part of a core that it took */
  async during(work) {
    await this.#worker.call('watchNetwork')
    const result = await work()
    return { result, part: await this.#worker.call('networkUsage') }
  }
}
