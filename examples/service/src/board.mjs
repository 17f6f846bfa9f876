import { createHash, timingSafeEqual } from 'node:crypto'
import { createBoard } from '@holdfast/board'

const digest = (text) => createHash('sha256').update(text).digest()

/** The board at /locks, for the user `operator`: who may look may also break a lock, and is named in the log. */
export const boardRoutes = (locks, password) => async (app) => {
  const expected = digest(`Basic ${btoa(`operator:${password}`)}`)
  const isOperator = ({ headers }) => timingSafeEqual(digest(headers.authorization ?? ''), expected)
  const board = createBoard(locks, {
    basePath: '/locks',
    authorize: (request) => isOperator(request) && { user: 'operator' },
    log: (entry) => app.log.warn(entry, 'board'),
  })

  // The board itself answers 403; a browser asks for the password when it sees a 401.
  app.addHook('onRequest', async (request, reply) => {
    if (!isOperator(request)) return reply.code(401).header('www-authenticate', 'Basic realm="locks"').send()
  })
  const serve = (request, reply) => {
    reply.hijack()
    return board.handle(request.raw, reply.raw)
  }
  app.all('/locks', serve)
  app.all('/locks/*', serve)
  // Its pages have streams open, which the server would wait for.
  app.addHook('preClose', () => board.close())
}
