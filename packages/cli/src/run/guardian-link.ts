import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { jsonLines, type Deadlines, type FromGuardian, type ToGuardian } from '../guardian/messages.js'

/** How long a guardian has to end by itself, ms. */
const PATIENCE_MS = 1_000

export interface GuardianEvents {
  /** It has signalled the group. */
  sent(signal: 'SIGTERM' | 'SIGKILL'): void
  /** It is gone, and was not told to go. */
  gone(): void
}

/** The guardian process, as the command line sees it. */
export class GuardianLink {
  /** Resolves when it is gone and all that it has said is heard. */
  private readonly closed: Promise<unknown>
  private isDismissed = false
  private onGuarding: (() => void) | undefined

  private constructor(
    private readonly child: ChildProcess,
    private readonly pipe: Writable,
    answers: Readable,
    events: GuardianEvents,
  ) {
    const read = jsonLines((line) => {
      const message = line as FromGuardian
      if (message.kind === 'guarding') {
        this.onGuarding?.()
      } else {
        events.sent(message.signal)
      }
    })
    answers.setEncoding('utf8').on('data', read)
    // A guardian that is gone is heard of by its exit.
    pipe.on('error', () => undefined)
    this.closed = new Promise((resolve) => {
      child.once('error', resolve)
      child.once('close', resolve)
    })
    void this.closed.then(() => {
      if (!this.isDismissed) {
        events.gone()
      }
    })
  }

  /** @param program the module of the guardian */
  static start(program: string, events: GuardianEvents): GuardianLink {
    // A session of its own: what a terminal sends to the command line's group is not for it.
    const child = spawn(process.execPath, [program], {
      cwd: '/',
      detached: true,
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    return new GuardianLink(child, child.stdin, child.stdout, events)
  }

  /** Resolves when the guardian has the group; without an end if it never does. */
  guard(group: number, deadlines: Deadlines): Promise<void> {
    const guarding = new Promise<void>((resolve) => (this.onGuarding = resolve))
    this.send({ kind: 'guard', group, ...deadlines })
    return guarding
  }

  trust(deadlines: Deadlines): void {
    this.send({ kind: 'trust', ...deadlines })
  }

  /** Ends it, also one that stands still. Resolves when it is gone. */
  async dismiss(): Promise<void> {
    this.isDismissed = true
    this.send({ kind: 'done' })
    this.pipe.end()
    const killer = setTimeout(() => void this.child.kill('SIGKILL'), PATIENCE_MS)
    await this.closed
    clearTimeout(killer)
  }

  private send(message: ToGuardian): void {
    if (this.pipe.writable) {
      this.pipe.write(`${JSON.stringify(message)}\n`)
    }
  }
}
