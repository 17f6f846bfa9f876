import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import {
  RemoteError,
  type Answer,
  type CommandOptions,
  type Kind,
  type Side,
  type SideOptions,
} from './side.js'
import { setting } from './setting.js'

interface Line extends Answer {
  readonly id: number
  readonly ready?: true
  readonly error?: string
  readonly message?: string
}

/** A JVM with Redisson in it. */
export class JavaSide implements Side {
  readonly language = 'java'
  private readonly pending = new Map<
    number,
    { resolve: (answer: Answer) => void; reject: (error: Error) => void }
  >()
  private lastId = 0
  private complaints = ''

  private constructor(
    private readonly child: ChildProcess,
    private readonly ready: () => void,
  ) {
    createInterface({ input: child.stdout! }).on('line', (line) => this.receive(JSON.parse(line) as Line))
    child.stderr!.on('data', (text) => (this.complaints = `${this.complaints}${String(text)}`.slice(-4_000)))
    child.on('exit', (code, signal) => this.ended(`The JVM ended (${code ?? signal}): ${this.complaints}`))
  }

  static start({ url, watchdogMs, fairWaitMs, prefix, cluster }: SideOptions): Promise<JavaSide> {
    const given = {
      '--address': url,
      '--watchdog': watchdogMs,
      '--fair-wait': fairWaitMs,
      '--prefix': prefix,
      '--cluster': cluster,
    }
    const args = Object.entries(given).flatMap(([key, value]) =>
      value === undefined ? [] : [key, `${value}`],
    )
    const log = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'
    const child = spawn('java', [
      '-Xmx256m',
      log,
      '-cp',
      setting.classPath,
      'holdfast.interop.Driver',
      ...args,
    ])
    return new Promise((resolve, reject) => {
      const side = new JavaSide(child, () => resolve(side))
      child.on('error', reject)
      child.on('exit', () => reject(new Error(side.complaints)))
    })
  }

  call(
    thread: string,
    verb: string,
    kind: Kind,
    name: string,
    options: CommandOptions = {},
  ): Promise<Answer> {
    const id = ++this.lastId
    const pairs = Object.entries(options).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    this.child.stdin!.write(`${[id, thread, verb, kind, encodeURIComponent(name), ...pairs].join(' ')}\n`)
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }))
  }

  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGKILL')
      await once(this.child, 'exit')
    }
  }

  private receive({ id, ready, error, message = '', ...answer }: Line): void {
    if (ready) {
      this.ready()
      return
    }
    const call = this.pending.get(id)
    this.pending.delete(id)
    if (error === undefined) {
      call?.resolve(answer)
    } else {
      call?.reject(new RemoteError(error, message))
    }
  }

  private ended(why: string): void {
    this.pending.forEach(({ reject }) => reject(new RemoteError('Ended', why)))
    this.pending.clear()
  }
}
