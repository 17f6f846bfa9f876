import { readFileSync } from 'node:fs'
import { processes, type ProcessState } from '@holdfast/faults/harness'
import { CommandLine } from './command-line.js'

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
  isRunning = true
  readonly #line: CommandLine
  readonly #marker: string

  constructor({ url, name, leaseMs, fair, marker }: CommandOptions) {
    this.#marker = marker
    const args = ['--timeout', '60s', 'run', name, '--lease', `${leaseMs}ms`, ...(fair ? ['--fair'] : [])]
    this.#line = CommandLine.start(url, [...args, '--', 'sh', '-c', COMMAND, marker])
    this.exited = new Promise((resolve) => {
      this.#line.child.once('exit', (code, signal) => {
        this.isRunning = false
        resolve({ code, signal })
      })
    })
    this.begun = new Promise((resolve) => {
      const begin = ([, group]: RegExpExecArray): void => {
        this.group = Number(group)
        resolve()
      }
      this.#line.printed(/inside (\d+) /).then(begin, () => undefined)
    })
  }

  get pid(): number {
    return this.#line.pid
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
    this.#line.child.kill('SIGCONT')
    this.#line.child.kill('SIGTERM')
  }
}

const argumentsOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
