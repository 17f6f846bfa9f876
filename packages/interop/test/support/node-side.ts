import { WorkerProcess } from '@holdfast/faults/harness'
import {
  RemoteError,
  type Answer,
  type CommandOptions,
  type Kind,
  type Side,
  type SideOptions,
} from './side.js'

const WORKER = new URL('./node-driver.mjs', import.meta.url)

/** A Node process with Holdfast in it. */
export class NodeSide implements Side {
  readonly language = 'node'

  private constructor(private readonly worker: WorkerProcess) {}

  static async start(options: SideOptions): Promise<NodeSide> {
    return new NodeSide(await WorkerProcess.start(WORKER, { args: [JSON.stringify(options)] }))
  }

  async call(
    thread: string,
    verb: string,
    kind: Kind,
    name: string,
    options: CommandOptions = {},
  ): Promise<Answer> {
    try {
      return (await this.worker.call('run', { thread, verb, kind, name, options })) as Answer
    } catch (error) {
      throw error instanceof Error ? new RemoteError(error.name, error.message) : error
    }
  }

  kill(): Promise<void> {
    return this.worker.kill()
  }

  /** SIGSTOP: its connections stay open. Resolves when it stands still. */
  pause(): Promise<void> {
    return this.worker.pause()
  }

  /** SIGCONT. */
  resume(): void {
    this.worker.resume()
  }
}
