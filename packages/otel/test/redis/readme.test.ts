import { describe } from '@jest/globals'
import { programs } from '../../../core/test/redis/support/markdown.js'
import { shipOrder42 } from '../../../core/test/redis/support/ship-order-42.js'

describe('the first example of', () => {
  // Its port may be somebody else's.
  const withoutServer = (code: string): string =>
    code.replace('metricProducers: [telemetry]', 'metricProducers: [telemetry], preventServerStart: true')
  shipOrder42(programs('packages/otel/README.md').slice(0, 1), withoutServer)
})
