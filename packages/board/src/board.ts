import type { LockClient } from '@holdfast/core'
import { observe } from '@holdfast/core/observe'
import { LockBreaker } from './breaking.js'
import { Collector } from './collect/collector.js'
import type { BoardReply, BoardRequest } from './http/exchange.js'
import { requestOfFetch, responseOf } from './http/fetch.js'
import { requestOfNode, writeToNode, type NodeRequest, type NodeResponse } from './http/node.js'
import { boardClock } from './live/board-clock.js'
import { settingsOf, type BoardOptions } from './options.js'
import { warn } from './warning.js'
import { plain, Routes } from './routes.js'

export type { NodeRequest, NodeResponse } from './http/node.js'

/** A board of the locks of one Redis. Both handlers are bound: they can be passed on alone. */
export interface Board {
  /**
   * Answers a request of Node's http, Express, Fastify, Koa or Nest. Resolves when the reply, or its beginning, is
   * written. Never rejects.
   */
  handle(request: NodeRequest, response: NodeResponse): Promise<void>
  /** Answers a Request, of Hono, Bun, Deno and others that have one. Never rejects. */
  fetch(request: Request): Promise<Response>
  /** Ends the streams to pages, and what the board does in Redis. The client stays open. Never rejects. */
  close(): Promise<void>
}

/**
 * Makes a board of the locks that a client sees. It asks nothing of Redis while no page is open. Its client should report
 * too, if it holds locks: `report(locks)` of `@holdfast/core/observe`.
 * @param locks the client; the board looks through its connection
 * @throws InvalidArgumentError
 */
export function createBoard(locks: LockClient, options: BoardOptions = {}): Board {
  const settings = settingsOf(options)
  const observer = observe(locks)
  const { runtime } = observer
  const collector = new Collector(observer, settings)
  const breaker = new LockBreaker(locks, collector, settings, runtime)
  const routes = new Routes({ settings, observer, collector, breaker, clock: boardClock(runtime) })

  const respond = async (request: () => BoardRequest): Promise<{ reply: BoardReply; isHead: boolean }> => {
    let given: BoardRequest
    try {
      given = request()
    } catch {
      return { reply: plain(400, 'The URL is none.'), isHead: false }
    }
    const isHead = given.method === 'HEAD'
    try {
      return { reply: await routes.respond(given), isHead }
    } catch (error) {
      warn('The board failed', error)
      return { reply: plain(500, 'The board failed. The process that serves it has a warning.'), isHead }
    }
  }
  return {
    handle: async (request, response) => {
      // A request's body is not read: nothing of the board has one.
      request.resume()
      const { reply, isHead } = await respond(() => requestOfNode(request))
      writeToNode(response, reply, isHead)
    },
    fetch: async (request) => {
      const { reply, isHead } = await respond(() => requestOfFetch(request))
      return responseOf(reply, isHead)
    },
    close: () => routes.close(),
  }
}
