import { serve } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  expressLockErrors,
  expressLocks,
  fastifyLocks,
  honoLocks,
  koaLocks,
  type HttpLocksOptions,
} from '../../../src/entries/http/index.js'
import type { LockClient } from '../../../src/index.js'

/** The handler of a path: takes the rest of the path and the body, returns the answer in JSON. */
export type Handler = (argument: string, body: unknown) => Promise<unknown>
export type Handlers = Readonly<Record<string, Handler>>

export interface WebServer {
  readonly url: string
  close(): Promise<void>
}

/** Serves `POST /<handler>/<argument>` with a JSON body, in a framework as its users have it. */
export type Framework = (
  locks: LockClient,
  handlers: Handlers,
  options?: HttpLocksOptions,
) => Promise<WebServer>

const served = (server: Server): WebServer => ({
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  close: () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
})

const listening = (server: Server): Promise<WebServer> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(served(server))))

const inExpress: Framework = (locks, handlers, { errors, signal } = {}) => {
  const app = express()
  app.use(expressLocks(locks, { signal }))
  app.use(express.json())
  for (const [name, handler] of Object.entries(handlers)) {
    app.post(`/${name}/:argument`, async (request, response) => {
      response.json(await handler(request.params.argument, request.body))
    })
  }
  if (errors) app.use(expressLockErrors(errors))
  return listening(createServer(app))
}

const inFastify: Framework = async (locks, handlers, options) => {
  const app = Fastify()
  await app.register(fastifyLocks(locks, options))
  for (const [name, handler] of Object.entries(handlers)) {
    app.post<{ Params: { argument: string } }>(`/${name}/:argument`, ({ params, body }) =>
      handler(params.argument, body),
    )
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { ...served(app.server), close: () => (app.server.closeAllConnections(), app.close()) }
}

const inKoa: Framework = (locks, handlers, options) => {
  const app = new Koa()
  app.silent = true
  app.use(koaLocks(locks, options))
  app.use(async (ctx) => {
    const [, name, argument] = ctx.path.split('/')
    let body = ''
    for await (const chunk of ctx.req) body += String(chunk)
    ctx.body = await handlers[name!]!(argument!, JSON.parse(body))
  })
  const callback = app.callback()
  return listening(createServer((request, response) => void callback(request, response)))
}

const inHono: Framework = (locks, handlers, options) => {
  const app = new Hono()
  app.use(honoLocks(locks, options))
  // The same as its own, but without a log.
  app.onError((error, c) => ('getResponse' in error ? error.getResponse() : c.text('Error', 500)))
  for (const [name, handler] of Object.entries(handlers)) {
    app.post(`/${name}/:argument`, async (c) =>
      c.json((await handler(c.req.param('argument'), await c.req.json())) as object),
    )
  }
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () =>
      resolve(served(server as Server)),
    )
  })
}

export const frameworks: Readonly<Record<string, Framework>> = {
  'Express 5': inExpress,
  'Fastify 5': inFastify,
  'Koa 3': inKoa,
  Hono: inHono,
}
