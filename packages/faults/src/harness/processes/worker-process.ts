import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { SupervisedProcess } from './supervised-process.js'
import type { Exit } from './supervised-process.js'
import { WorkerEvents } from './worker-events.js'
import { unpackError } from './worker-protocol.js'
import type { Call, WorkerMessage } from './worker-protocol.js'

/** How to start a `WorkerProcess`. */
export interface WorkerOptions {
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** The program of another Node than this process runs on. */
  readonly execPath?: string | undefined
  /** Entries of the worker's `process.argv` from the third on. */
  readonly args?: readonly string[]
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** A Node process of its own that runs a module made with `serveWorker`. It cannot outlive this process. */
export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #process: SupervisedProcess
  readonly #events = new WorkerEvents()
  readonly #calls = new Map<number, Waiting>()
  #lastCall = 0

  private constructor(child: ChildProcess, ready: () => void) {
    this.#child = child
    this.#process = new SupervisedProcess(child)
    child.on('message', (message: WorkerMessage) => {
      if (message.kind === 'ready') ready()
      else this.#receive(message)
    })
    void this.exited.then((exit) => this.#ended(exit))
  }

  /** @param module file URL or path of an ES module; resolves when it has called `serveWorker` */
  static start(
    module: string | URL,
    { env, args = [], execPath = process.execPath }: WorkerOptions = {},
  ): Promise<WorkerProcess> {
    const file = String(module).startsWith('file:') ? new URL(module) : String(module)
    const child = fork(file, args, {
      env: { ...process.env, ...env },
      // Flags of the test runner are not meant for the worker.
      execArgv: [],
      execPath,
      serialization: 'json',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    return new Promise((resolve, reject) => {
      const worker = new WorkerProcess(child, () => resolve(worker))
      void worker.exited.then((exit) => reject(worker.#endError('start', exit)))
    })
  }

  get pid(): number {
    return this.#process.pid
  }

  /** Resolves when the worker has ended, whatever the reason. */
  get exited(): Promise<Exit> {
    return this.#process.exited
  }

  /** The last 64 KiB of what it wrote to stdout and stderr. */
  get output(): string {
    return this.#process.output
  }

  /**
   * Runs a function of the worker. Rejects with what it threw (an `Error` with the same name, message and
   * code), or when the worker ends first.
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the worker is JavaScript; its callers know
  call(name: string, ...args: unknown[]): Promise<any> {
    return new Promise((resolve, reject) => {
      this.#lastCall += 1
      const call: Call = { id: this.#lastCall, name, args }
      this.#calls.set(call.id, { resolve, reject })
      this.#child.send(call, (error) => {
        // The channel closes a little before the end is known, and the end says more.
        if (error !== null) void this.exited.then((exit) => this.#ended(exit))
      })
    })
  }

  /**
   * Resolves with the data of the next `event` that no other `once` got, which may have come before this call:
   * the n-th `once` gets the n-th event. Rejects when the worker ends first.
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see `call`
  once(event: string): Promise<any> {
    return this.#events.once(event)
  }

  /** Calls `listener` for each `event` from now on; gives a function that ends it. Takes nothing from `once`. */
  on(event: string, listener: (data: unknown) => void): () => void {
    return this.#events.on(event, listener)
  }

  /** SIGKILL; resolves when the worker is gone. */
  kill(): Promise<void> {
    return this.#process.kill()
  }

  /** SIGSTOP; resolves when the worker stands still. */
  pause(): Promise<void> {
    return this.#process.pause()
  }

  /** SIGCONT. */
  resume(): void {
    this.#process.resume()
  }

  /** SIGTERM, which the worker may handle; SIGKILL when that has not ended it within 5 s. */
  stop(): Promise<Exit> {
    return this.#process.terminate()
  }

  #receive(message: Exclude<WorkerMessage, { kind: 'ready' }>): void {
    switch (message.kind) {
      case 'event':
        this.#events.receive(message.event, message.data)
        break
      case 'result':
        this.#settle(message.id)?.resolve(message.value)
        break
      case 'error':
        this.#settle(message.id)?.reject(unpackError(message.error))
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#calls.get(id)
    this.#calls.delete(id)
    return waiting
  }

  #ended(exit: Exit): void {
    for (const { reject } of this.#calls.values()) reject(this.#endError('answer', exit))
    this.#calls.clear()
    this.#events.end((event) => this.#endError(`'${event}'`, exit))
  }

  #endError(missing: string, { code, signal }: Exit): Error {
    const how = signal === null ? `code ${code ?? 'unknown'}` : signal
    return new Error(`the worker ended (${how}) before its ${missing}\n${this.output}`)
  }
}
