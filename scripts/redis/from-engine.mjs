/** Its name in reports, so that nobody takes its figures for those of a Redis. */
export const EMBEDDED = "embedded engine, for development: figures are not Redis's"

/**
 * The engine of @holdfast/testing in this process, which other processes reach at a port: where there is no Redis, and
 * none is to be installed. It needs nothing but what is built here.
 *
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<import('./provide-redis.mjs').ProvidedRedis>}
 */
export const fromEngine = async ({ log }) => {
  const { TestRedis } = await import('@holdfast/testing')
  const listener = await new TestRedis().listen()
  log(EMBEDDED)
  return { url: listener.url, how: EMBEDDED, isEmbedded: true, stop: () => listener.close() }
}
