import type { TestRedis } from '@holdfast/testing'
import { engineAt } from './ioredis.js'

export * from '../../../../../faults/src/harness/index.js'

let ports = 20_000

/** A server of a test's own, in the project `engine`. It has no process that could be paused or killed. */
export class RedisServer {
  private constructor(
    readonly port: number,
    private readonly engine: TestRedis,
  ) {}

  static start(): Promise<RedisServer> {
    ports += 1
    return Promise.resolve(new RedisServer(ports, engineAt(ports)))
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  command(name: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.engine.command(name, ...args)
  }

  resume(): void {
    // It never rests.
  }

  restart(): Promise<void> {
    this.engine.start({ empty: true })
    return Promise.resolve()
  }

  stop(): Promise<void> {
    return Promise.resolve()
  }
}
