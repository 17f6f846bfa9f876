import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net'
import { checkKeys } from '../check-keys.js'
import type { Connection, OnMessage } from '../engine/connection.js'
import { ClientSession } from './client-session.js'

/** Where `listen` listens. */
export interface ListenOptions {
  /** Default 0: one that is free. */
  readonly port?: number | undefined
  /** The address to listen at. Default '127.0.0.1': for this machine alone. Nobody is asked for a password. */
  readonly host?: string | undefined
}

/** Where other processes reach a TestRedis. */
export interface TestRedisListener {
  readonly port: number
  /** The URL that clients take: `redis://127.0.0.1:49213`. */
  readonly url: string
  /**
   * Breaks the connections of other processes, and takes no more. Resolves when the port is free; never rejects.
   * Twice is as once.
   */
  close(): Promise<void>
}

/** The server that other processes connect to. */
export interface ListeningServer {
  readonly isUp: boolean
  connect(onMessage: OnMessage): Connection
  onChange(listener: () => void): () => void
}

const MOST_CLIENTS = 1_000

/** @throws TypeError an option that is wrong; rejects where the port is taken */
export async function listen(server: ListeningServer, options: ListenOptions): Promise<TestRedisListener> {
  const { port = 0, host = '127.0.0.1' } = checked(options)
  const listener = new Listener(server)
  await listener.open(port, host)
  return listener
}

function checked(options: ListenOptions): ListenOptions {
  checkKeys('options', options, ['port', 'host'])
  const { port, host } = options
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new TypeError(`port must be a whole number from 0 to 65535, but is ${String(port)}`)
  }
  if (host !== undefined && (typeof (host as unknown) !== 'string' || host === '')) {
    throw new TypeError(`host must be the name or address of this machine, but is ${JSON.stringify(host)}`)
  }
  return options
}

class Listener implements TestRedisListener {
  port = 0
  url = ''
  private readonly sockets = new Set<Socket>()
  private readonly net: NetServer
  private readonly stopWatching: () => void
  private closed: Promise<void> | null = null

  constructor(private readonly server: ListeningServer) {
    this.net = createServer((socket) => this.welcome(socket))
    this.net.maxConnections = MOST_CLIENTS
    // A TestRedis that is stopped is so for everybody.
    this.stopWatching = server.onChange(() => {
      if (!server.isUp) {
        this.breakAll()
      }
    })
  }

  async open(port: number, host: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.net.once('error', reject)
      this.net.listen(port, host, resolve)
    }).catch((error: unknown) => {
      this.stopWatching()
      throw error
    })
    this.port = (this.net.address() as AddressInfo).port
    this.url = `redis://${host.includes(':') ? `[${host}]` : host}:${this.port}`
  }

  close(): Promise<void> {
    this.closed ??= new Promise((resolve) => {
      this.stopWatching()
      this.net.close(() => resolve())
      this.breakAll()
    })
    return this.closed
  }

  private welcome(socket: Socket): void {
    if (!this.server.isUp) {
      socket.destroy()
      return
    }
    this.sockets.add(socket)
    socket.once('close', () => this.sockets.delete(socket))
    new ClientSession(socket, (onMessage) => this.server.connect(onMessage))
  }

  private breakAll(): void {
    this.sockets.forEach((socket) => socket.destroy())
  }
}
