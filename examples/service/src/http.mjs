import { randomUUID } from 'node:crypto'
import { fastifyLocks } from '@holdfast/core/http'

const NEW_ORDER = {
  body: {
    type: 'object',
    required: ['amount', 'warehouse'],
    properties: {
      amount: { type: 'integer', minimum: 1 },
      warehouse: { type: 'string', pattern: '^[a-z]{1,20}$' },
    },
  },
}

export const addRoutes = async (app, { locks, orders, payments }) => {
  // Each request has a context: when its client goes away, its waits end. A busy lock is 409, no Redis is 503.
  await app.register(fastifyLocks(locks, { errors: {} }))

  app.post('/orders', { schema: NEW_ORDER }, async ({ body }, reply) =>
    reply.code(201).send(await orders.create(body)),
  )
  app.get('/orders/:id', async ({ params }, reply) => found(await orders.find(params.id), reply))
  app.post('/orders/:id/payment', async ({ params }, reply) => found(await payments.pay(params.id), reply))

  // Healthy is who can take a lock; who cannot answers 503.
  const probe = locks.getLock(`health:${randomUUID()}`)
  app.get('/health', async () => {
    await probe.withLock(() => undefined, { waitMs: 1_000 })
    return { status: 'up' }
  })
}

const found = (order, reply) => order ?? reply.code(404).send({ message: 'There is no such order.' })
