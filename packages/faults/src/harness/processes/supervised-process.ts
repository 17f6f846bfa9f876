import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { dieWithParent } from './guardian.js'

/** How a process ended: one of the two is not null, unless it could not be started at all. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const KEPT_OUTPUT_CHARS = 64 * 1024

/** A child process with its output kept, that cannot outlive this process. */
export class SupervisedProcess {
  /** Resolves when the process has ended and its output is complete. */
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  #exit: Exit | undefined
  #output = ''

  /** @param folder is removed too when this process ends before the child does */
  constructor(child: ChildProcess, folder?: string) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-KEPT_OUTPUT_CHARS)
      })
    }
    const callOff = child.pid === undefined ? undefined : dieWithParent(child.pid, folder)
    child.once('exit', () => callOff?.())
    this.exited = new Promise((resolve) => {
      const end = (exit: Exit): void => {
        this.#exit ??= exit
        resolve(this.#exit)
      }
      child.once('close', (code, signal) => end({ code, signal }))
      child.on('error', (error) => {
        this.#output += `${error.message}\n`
        if (child.pid === undefined) end({ code: null, signal: null })
      })
    })
  }

  /** The last 64 KiB of what it wrote to stdout and stderr. */
  get output(): string {
    return this.#output
  }

  get running(): boolean {
    return this.#child.pid !== undefined && this.#exit === undefined
  }

  /** @throws when the process could not be started */
  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`the process did not start: ${this.#output}`)
    return this.#child.pid
  }

  /** Lets this process end although the child runs, until the end of the child is waited for. */
  unref(): void {
    this.#child.unref()
    for (const pipe of this.#pipes()) pipe.unref()
  }

  /** SIGKILL; resolves when the process is gone. Nothing happens when it is gone already. */
  async kill(): Promise<void> {
    this.#ref()
    this.#child.kill('SIGKILL')
    await this.exited
  }

  /** SIGTERM, and SIGKILL when that has not ended it within `graceMs` (in ms). A stopped process is resumed. */
  async terminate(graceMs = 5_000): Promise<Exit> {
    this.#ref()
    this.#child.kill('SIGTERM')
    this.#child.kill('SIGCONT')
    const killer = setTimeout(() => void this.#child.kill('SIGKILL'), graceMs)
    const exit = await this.exited
    clearTimeout(killer)
    return exit
  }

  /** SIGSTOP; resolves when the process really stands still. */
  async pause(): Promise<void> {
    this.#child.kill('SIGSTOP')
    // The signal is asynchronous: what the process was doing may go on for an instant after `kill` returned.
    while (this.running && !(await standsStill(this.pid))) await sleep(1)
  }

  /** SIGCONT. */
  resume(): void {
    this.#child.kill('SIGCONT')
  }

  #ref(): void {
    this.#child.ref()
    for (const pipe of this.#pipes()) pipe.ref()
  }

  #pipes(): Socket[] {
    return [this.#child.stdout, this.#child.stderr].filter((stream) => stream instanceof Socket)
  }
}

const standsStill = async (pid: number): Promise<boolean> => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The state follows the command name, which is in parentheses and may hold anything.
    return /^\) [TtZX]/.test(stat.slice(stat.lastIndexOf(')')))
  } catch {
    return true // No /proc here: nothing to ask.
  }
}
