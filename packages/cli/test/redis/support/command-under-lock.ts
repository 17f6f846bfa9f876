import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { processes, type ProcessState } from '@holdfast/faults/harness'
import { PROGRAM } from './command-line.js'

// Two shells that never end by themselves, one of them behind the other's back, and what they start.
const COMMAND =
  '(while :; do sleep 0.05; done) & echo "inside $$ $HOLDFAST_OWNER"; while :; do sleep 0.05; done'

export interface CommandOptions {
  readonly url: string
  readonly name: string
  readonly leaseMs: number
  /** In order of arrival. */
  readonly fair: boolean
  /** In the arguments of the command alone: by it its processes are found. */
  readonly marker: string
}

/** `holdfast run` in a process of its own, and what it has started. */
export class CommandUnderLock {
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /** Resolves when the command has begun; never if it does not. */
  readonly begun: Promise<void>
  /** The process group of the command. */
  group: number | undefined
  output = ''
  isRunning = true
  readonly #child: ChildProcess
  readonly #marker: string

  constructor({ url, name, leaseMs, fair, marker }: CommandOptions) {
    this.#marker = marker
    const lock = fair ? ['--fair'] : []
    const args = ['--url', url, '--timeout', '60s', 'run', name, '--lease', `${leaseMs}ms`, ...lock]
    this.#child = spawn(process.execPath, [PROGRAM, ...args, '--', 'sh', '-c', COMMAND, marker], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.isRunning = false
        resolve({ code, signal })
      })
    })
    this.begun = new Promise((resolve) => {
      this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
        const [, group] = /inside (\d+) /.exec(this.output) ?? []
        if (group !== undefined) {
          this.group = Number(group)
          resolve()
        }
      })
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.output += text))
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** Undefined: there is none now. */
  get guardian(): number | undefined {
    return processes().find(
      ({ pid, parent }) => parent === this.pid && argumentsOf(pid).includes('guardian.mjs'),
    )?.pid
  }

  /** The processes of the command that can still run: its group, and whatever has its marker. The command line has it, too. */
  living(): ProcessState[] {
    return processes().filter(
      ({ pid, group, state }) =>
        state !== 'Z' &&
        state !== 'X' &&
        pid !== this.pid &&
        (group === this.group || argumentsOf(pid).includes(this.#marker)),
    )
  }

  /** Ended processes that nobody has asked about. Those whose parent was killed belong to the machine's first process. */
  zombies(): ProcessState[] {
    return processes().filter(
      ({ state, parent, group }) =>
        state === 'Z' && (parent === this.pid || group === this.group) && parent !== 1,
    )
  }

  end(): void {
    this.#child.kill('SIGCONT')
    this.#child.kill('SIGTERM')
  }
}

const argumentsOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
