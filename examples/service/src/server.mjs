// One process of the service. Start as many as you like.
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { boardRoutes } from './board.mjs'
import { config } from './config.mjs'
import { addRoutes } from './http.mjs'
import { connectLocks } from './locks.mjs'
import { Orders } from './orders.mjs'
import { createPartners } from './partners.mjs'
import { createPayments } from './payments.mjs'
import { startShipping } from './shipping.mjs'
import { createSweep, startSweep } from './sweep.mjs'
import { startTelemetry } from './telemetry.mjs'

const app = Fastify({ logger: true })
const { log } = app
const telemetry = startTelemetry()
const redis = new Redis(config.redisUrl, { keyPrefix: `${config.prefix}:` })
redis.on('error', (error) => log.error({ err: error }, 'redis'))

const locks = await connectLocks(redis, { leaseMs: config.leaseMs, log })
const orders = new Orders(redis)
const partners = createPartners({ locks, url: config.partnersUrl })
const shipping = startShipping({ locks, orders, partners, config, log })
const payments = createPayments({ locks, orders, partners, shipping })
const sweep = createSweep({ locks, orders, shipping, log })

await addRoutes(app, { locks, orders, payments })
app.get('/metrics', async (_request, reply) => reply.type('text/plain').send(await telemetry.text()))
if (config.boardPassword) await app.register(boardRoutes(locks, config.boardPassword))
await app.listen({ host: config.host, port: config.port })
const schedule = startSweep({ sweep, at: config.sweepAt, log })

let isClosing = false
/** Users of locks end first, then the locks, then the connection that carries them. */
const shutDown = async (signal) => {
  if (isClosing) return
  isClosing = true
  log.info(`closing after ${signal}`)
  await app.close()
  schedule.stop()
  await shipping.close()
  await locks.close()
  redis.disconnect()
  await telemetry.close()
}
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, shutDown)
