// In place of ioredis: the hosts of the suite's containers are servers of this machine, and GET reads a hash too.
import { createRequire } from 'node:module'
import { valueOf } from './redlock.mjs'

// Not imported: in vitest that name is this file.
const ioredis = createRequire(import.meta.url)('ioredis')
const ports = JSON.parse(process.env.HOLDFAST_SUITE_PORTS)
const at = (options) =>
  options?.host in ports ? { ...options, host: '127.0.0.1', port: ports[options.host] } : options

const reading = (Base) =>
  class extends Base {
    async get(key) {
      if ((await super.type(key)) !== 'hash') return super.get(key)
      const [owner] = await super.hkeys(key)
      return valueOf(owner)
    }
  }

export class Redis extends reading(ioredis.Redis) {
  constructor(options) {
    super(at(options))
  }
}
export class Cluster extends reading(ioredis.Cluster) {
  constructor(nodes, options) {
    super(nodes.map(at), options)
  }
}
export default Redis
