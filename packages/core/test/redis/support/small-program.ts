import { afterEach } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { redisUrl, signalled } from './rig.js'

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url))
const BEGINNING = `
import { LockClient } from '@holdfast/core'
const url = process.env.REDIS_URL
const target = process.env.CLIENT === 'node-redis' ? { url } : url
const locks = await LockClient.connect(target, JSON.parse(process.env.OPTIONS))
`

/** A program as a reader of the pages would write it, in a process of its own, on the built packages. */
export class SmallProgram {
  private readonly child: ChildProcess
  private readonly end = signalled<{ code: number | null; signal: NodeJS.Signals | null }>()
  private readonly news = new Set<() => void>()
  stdout = ''
  stderr = ''

  constructor(code: string, { env = {} }: { env?: Record<string, string> } = {}) {
    this.child = spawn(process.execPath, ['--input-type=module'], {
      cwd: ROOT,
      // Not those of Jest, but those by which a planted bug gets into the program.
      env: {
        ...process.env,
        NODE_OPTIONS: process.env.HOLDFAST_PROGRAM_OPTIONS ?? '',
        REDIS_URL: redisUrl,
        OPTIONS: '{}',
        ...env,
      },
    })
    for (const stream of ['stdout', 'stderr'] as const) {
      this.child[stream]?.on('data', (chunk) => {
        this[stream] += String(chunk)
        this.news.forEach((tell) => tell())
      })
    }
    this.child.once('close', (exit, signal) => this.end.resolve({ code: exit, signal }))
    this.child.stdin?.end(code)
  }

  /** Resolves with the code it ends with, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    const { code, signal } = await this.end.promise
    return signal ?? code
  }

  /** Resolves when it has said so, on either stream. Rejects if it ends without. */
  async said(what: RegExp): Promise<void> {
    const heard = signalled()
    const look = (): void => {
      if (what.test(this.stdout) || what.test(this.stderr)) {
        heard.resolve()
      }
    }
    this.news.add(look)
    look()
    const ended = this.ended().then((code) => {
      look()
      throw new Error(`It ended with ${code} and did not say ${what}:\n${this.stdout}\n${this.stderr}`)
    })
    await Promise.race([heard.promise, ended])
    ended.catch(() => undefined)
    this.news.delete(look)
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.child.kill(signal)
  }

  /** How many process warnings it has given, and with this code. */
  warnings(code: string): number {
    return this.stderr.split(`[${code}]`).length - 1
  }
}

/** Programs that end with their test at the latest. */
export class SmallPrograms {
  private readonly running: SmallProgram[] = []

  /** Starts what follows `const locks = await LockClient.connect(…)`. */
  start(
    code: string,
    { env = {}, client = {} }: { env?: Record<string, string>; client?: object } = {},
  ): SmallProgram {
    const program = new SmallProgram(BEGINNING + code, { env: { OPTIONS: JSON.stringify(client), ...env } })
    this.running.push(program)
    return program
  }

  async finish(): Promise<void> {
    for (const program of this.running.splice(0)) {
      program.kill()
      await program.ended()
    }
  }
}

/** For the top of a describe block. @returns how its tests start programs */
export function useSmallPrograms(): SmallPrograms['start'] {
  const programs = new SmallPrograms()
  afterEach(() => programs.finish())
  return (...args) => programs.start(...args)
}
