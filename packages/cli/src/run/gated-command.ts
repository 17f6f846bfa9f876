import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOfSignal } from '../exit-code.js'
import { canGroupRun, signalGroup } from '../guardian/group.js'

// A shell that becomes the command on a word from the pipe. Without the word, because whoever started it has died, it ends.
// So there is no instant at which the command runs and its guardian does not know of it.
const GATE = 'IFS= read -r go <&3 || exit 125; exec 3<&-; exec "$@"'

const LOOK_MS = 20
/** A look at all processes of a large machine takes a while: so many times that long nothing is done. */
const REST_PER_LOOK = 10

/** A command in a process group of its own, that has not begun yet. */
export class GatedCommand {
  /** The exit code as a shell tells it. */
  readonly ended: Promise<number>
  private readonly gate: Writable

  private constructor(private readonly child: ChildProcess) {
    this.gate = child.stdio[3] as Writable
    // It was ended before it began.
    this.gate.on('error', () => undefined)
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve(code ?? codeOfSignal(numberOf(signal))))
    })
    // Heard of by whoever waits for it, perhaps later.
    this.ended.catch(() => undefined)
  }

  static prepare(
    command: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
  ): GatedCommand {
    return new GatedCommand(
      spawn('/bin/sh', ['-c', GATE, 'holdfast', ...command], {
        detached: true,
        env,
        stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
      }),
    )
  }

  /** The process group. @throws the shell could not be started */
  async group(): Promise<number> {
    // The error comes a turn later.
    return this.child.pid ?? (await this.ended.then(() => Promise.reject(new Error('no process'))))
  }

  begin(): void {
    this.gate.end('go\n')
  }

  /** @returns false: none of it is left */
  signal(signal: NodeJS.Signals): boolean {
    return this.child.pid !== undefined && signalGroup(this.child.pid, signal)
  }

  /**
   * Ends what the command left behind in its group: SIGTERM, and SIGKILL after `graceMs`. Resolves when the group is
   * empty.
   */
  async endRest(graceMs: number): Promise<void> {
    const { pid } = this.child
    if (pid === undefined || !signalGroup(pid, 'SIGTERM')) {
      return
    }
    const killAt = performance.now() + graceMs
    for (;;) {
      const startedAt = performance.now()
      // One that ignores the signals of this user is waited for: it works under the lock.
      if (startedAt >= killAt) {
        signalGroup(pid, 'SIGKILL')
      }
      if (!canGroupRun(pid)) {
        return
      }
      await sleep(Math.max(LOOK_MS, REST_PER_LOOK * (performance.now() - startedAt)))
    }
  }
}

function numberOf(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : constants.signals[signal]
}
