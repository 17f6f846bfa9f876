import type { AcquireServices } from '../acquire/services.js'
import type { RedisPort } from '../redis/redis-port.js'

/** The services of their client that locks use, and that whoever is given a lock may use. */
export interface LockServices extends AcquireServices {
  readonly port: RedisPort
}
