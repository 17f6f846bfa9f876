import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { LockClient } from '@holdfast/core'
import { UsageError } from './connection.js'
import { EXIT } from './exit-code.js'
import type { Output } from './terminal.js'

/** The part of `@holdfast/board` that this needs; it is loaded if it is installed. */
interface BoardPackage {
  readonly createBoard: (
    locks: LockClient,
    options: { readonly allowedHosts: readonly string[]; readonly authorize?: () => boolean },
  ) => {
    handle(request: IncomingMessage, response: ServerResponse): Promise<void>
    close(): Promise<void>
  }
}

const PACKAGE = '@holdfast/board'
const LOOPBACK = ['127.0.0.1', 'localhost']

export interface BoardParts {
  readonly locks: LockClient
  readonly output: Output
  readonly signal: AbortSignal
}

/** `board`: serves the board on this machine alone, until it is interrupted. */
export async function serveBoard(
  { locks, output, signal }: BoardParts,
  options: { port: number; break: boolean },
): Promise<number> {
  const { createBoard } = await boardPackage()
  const board = createBoard(locks, {
    // A page elsewhere that has a name point to this machine is not answered.
    allowedHosts: LOOPBACK,
    ...(options.break && { authorize: () => true }),
  })
  const server = createServer((request, response) => void board.handle(request, response))
  server.listen(options.port, LOOPBACK[0])
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const url = `http://${LOOPBACK[0]}:${port}/`
  output.note(`the board is at ${url}`, { event: 'listening', url })
  if (!signal.aborted) {
    await once(signal, 'abort')
  }
  await board.close()
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  return EXIT.done
}

async function boardPackage(): Promise<BoardPackage> {
  try {
    return (await import(PACKAGE)) as BoardPackage
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') {
      throw error
    }
    throw new UsageError(`The board is a package of its own: npm install ${PACKAGE}`)
  }
}
