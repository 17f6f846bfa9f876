import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'

/** The built package, which users have. */
export const PROGRAM = fileURLToPath(new URL('../../../bin/holdfast.mjs', import.meta.url))

const { HOLDFAST_PROGRAM_OPTIONS, HOLDFAST_PLANTED_BUG } = process.env
/** A planted bug is put into the program, too. */
export const PLANTED: Record<string, string> =
  HOLDFAST_PLANTED_BUG === undefined
    ? {}
    : { HOLDFAST_PLANTED_BUG, NODE_OPTIONS: HOLDFAST_PROGRAM_OPTIONS ?? '' }

/** `holdfast` in a process of its own. */
export class CommandLine {
  stdout = ''
  stderr = ''
  /** The exit code; 128 + n of a process that a signal ended. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  private readonly lines = new Set<() => void>()

  private constructor(readonly child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
      this.lines.forEach((look) => look())
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
      this.lines.forEach((look) => look())
    })
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.lines.forEach((look) => look())
        resolve(code ?? signal)
      })
    })
  }

  static start(url: string, args: readonly string[], env: Record<string, string> = {}): CommandLine {
    const child = spawn(process.execPath, [PROGRAM, '--url', url, ...args], {
      env: { PATH: process.env.PATH ?? '', ...PLANTED, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const started = new CommandLine(child)
    begun.add(started)
    return started
  }

  /** Runs it to its end. */
  static async run(
    url: string,
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<{ code: number | NodeJS.Signals | null; stdout: string; stderr: string }> {
    const started = CommandLine.start(url, args, env)
    const code = await started.ended
    return { code, stdout: started.stdout, stderr: started.stderr }
  }

  get pid(): number {
    return this.child.pid as number
  }

  /** Resolves with the first match in what it has printed. */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.stdout + this.stderr)
        if (match) {
          this.lines.delete(look)
          resolve(match)
        }
      }
      this.lines.add(look)
      look()
      void this.ended.then(() =>
        reject(new Error(`it ended without ${pattern.source}: ${this.stdout}${this.stderr}`)),
      )
    })
  }
}

const begun = new Set<CommandLine>()

/** After each test: nothing that it started goes on. */
export async function endAll(): Promise<void> {
  for (const each of begun) {
    each.child.kill('SIGCONT')
    each.child.kill('SIGKILL')
    await each.ended
  }
  begun.clear()
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) {
    await sleep(5)
  }
}
