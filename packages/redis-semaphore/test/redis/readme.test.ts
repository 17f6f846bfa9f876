import { describe } from '@jest/globals'
import { programs } from '../../../core/test/redis/support/markdown.js'
import { shipOrder42 } from '../../../core/test/redis/support/ship-order-42.js'

describe('the first example of', () => {
  shipOrder42(programs('packages/redis-semaphore/README.md').slice(0, 1))
})
