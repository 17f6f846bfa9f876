import { RedisServer } from '@holdfast/faults/harness'

const PLAIN = ['redis-single-instance', ...['a', 'b', 'c'].map((each) => `redis-multi-instance-${each}`)]
const CLUSTERS = ['redis-single-cluster-1', ...['a', 'b', 'c'].map((each) => `redis-multi-cluster-${each}-1`)]

/** A server for each host that the suites name: those of clusters have all slots. */
export const startServers = async () => {
  const started = new Map()
  const stop = async () => {
    await Promise.all([...started.values()].map((server) => server.stop()))
  }
  try {
    for (const host of [...PLAIN, ...CLUSTERS]) {
      const isCluster = CLUSTERS.includes(host)
      const server = await RedisServer.start({
        args: isCluster ? ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] : [],
      })
      started.set(host, server)
      if (isCluster) await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    }
  } catch (error) {
    await stop()
    throw error
  }
  const clear = async () => {
    await Promise.all([...started.values()].map((server) => server.command('FLUSHALL')))
  }
  return { ports: Object.fromEntries([...started].map(([host, { port }]) => [host, port])), clear, stop }
}
