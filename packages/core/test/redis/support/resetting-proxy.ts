import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Passes everything on, until it resets its connections: unlike an end, a reset is known to the client at once. */
export class ResettingProxy {
  private readonly sockets = new Set<Socket>()

  private constructor(private readonly server: Server) {}

  static async start(target: { readonly port: number }): Promise<ResettingProxy> {
    const server = createServer()
    const proxy = new ResettingProxy(server)
    server.on('connection', (socket) => {
      const upstream = connect(target.port, '127.0.0.1')
      for (const [from, to] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        from.on('error', () => undefined).on('close', () => to.destroy())
        from.pipe(to)
      }
      proxy.sockets.add(socket)
      socket.on('close', () => proxy.sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  reset(): void {
    this.sockets.forEach((socket) => socket.resetAndDestroy())
  }

  async stop(): Promise<void> {
    this.reset()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
