import { constants } from 'node:os'
import { LockTimeoutError, type LockClient } from '@holdfast/core'
import { UsageError } from '../connection.js'
import { codeOfSignal } from '../exit-code.js'
import { machineTime, sleptMs, type Deadlines } from '../guardian/messages.js'
import { EndedBySignal, unlessAborted } from '../interrupt.js'
import type { Output } from '../terminal.js'
import { GatedCommand } from './gated-command.js'
import { GuardianLink } from './guardian-link.js'
import { keep, type Kept, type LockChoice } from './kept.js'

export interface RunOptions {
  readonly name: string
  readonly command: readonly string[]
  readonly lock: LockChoice
  /** Undefined: as long as it takes. */
  readonly waitMs: number | undefined
  /** From SIGTERM to SIGKILL, before the trust in the lock ends. */
  readonly graceMs: number
  readonly leaseMs: number
  readonly conflictCode: number
  readonly lostCode: number
}

export interface RunSurroundings {
  readonly output: Output
  /** The module of the guardian. */
  readonly guardian: string
  /** Connects when the guardian is on its way: both take a while. */
  connect(): Promise<LockClient>
}

/** Signals that a shell sends to a command are passed on. SIGUSR1 is Node's own. */
const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGWINCH'] as const
/** Those that end a wait for the lock, and one for the release. */
const ENDING = new Set<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])

const MOST_FAILURES = 5
const RESTART_MS = 50

/**
 * Runs a command while a lock is held. Waits for the lock as long as is wanted, and for the command as long as it runs.
 * @returns the exit code
 */
export async function runCommand(options: RunOptions, surroundings: RunSurroundings): Promise<number> {
  if (process.platform === 'win32') {
    throw new UsageError('run needs process groups, which Windows does not have.')
  }
  const run = new Run(options, surroundings)
  try {
    return await run.toItsEnd()
  } catch (error) {
    if (error instanceof EndedBySignal) {
      return codeOfSignal(constants.signals[error.signal])
    }
    throw error
  } finally {
    await run.close()
  }
}

class Run {
  private readonly waitEnd = new AbortController()
  private readonly releaseEnd = new AbortController()
  private guardian: GuardianLink
  private locks: LockClient | undefined
  private kept: Kept | undefined
  private command: GatedCommand | undefined
  private group: number | undefined
  private isOver = false
  private told: Deadlines = { termAt: 0, killAt: 0, slept: 0 }
  /** It has been asked to end, and has a time by which it is gone. */
  private isEnding = false
  private follower: NodeJS.Timeout | undefined
  private restart: NodeJS.Timeout | undefined
  /** Guardians that went before they had the group. */
  private failures = 0
  private onGuarded: () => void = () => undefined
  private onUnguarded: (error: Error) => void = () => undefined
  private readonly guarded = new Promise<void>((resolve, reject) => {
    this.onGuarded = resolve
    this.onUnguarded = reject
  })
  /** Why the command was ended before its own end. */
  private endedFor: string | undefined
  private readonly passOn = new Map(PASSED_ON.map((signal) => [signal, () => this.onSignal(signal)]))

  constructor(
    private readonly options: RunOptions,
    private readonly surroundings: RunSurroundings,
  ) {
    // First: a signal without a listener would end this process and leave a guardian behind that is still starting.
    this.passOn.forEach((listener, signal) => process.on(signal, listener))
    this.guardian = this.startGuardian()
    // Heard of by whoever waits for it.
    this.guarded.catch(() => undefined)
  }

  async toItsEnd(): Promise<number> {
    const { options, surroundings } = this
    const connecting = surroundings.connect()
    // A connection that is there only after a signal is closed by whoever made it.
    this.locks = await unlessAborted(this.waitEnd.signal, connecting)
    const kept = await this.acquire(this.locks)
    if (kept === null) {
      return options.conflictCode
    }
    this.kept = kept
    const code = await this.runHolding(kept)
    return this.endedFor === undefined ? code : this.lost(this.endedFor)
  }

  /** Ends what it has started, and releases the lock. */
  async close(): Promise<void> {
    this.isOver = true
    clearInterval(this.follower)
    clearTimeout(this.restart)
    this.passOn.forEach((listener, signal) => process.removeListener(signal, listener))
    this.command?.signal('SIGKILL')
    await this.guardian.dismiss()
    await this.locks?.close({ graceMs: 0 })
  }

  /** @returns null: somebody else has it */
  private async acquire(locks: LockClient): Promise<Kept | null> {
    const { output } = this.surroundings
    const { name, lock, leaseMs, waitMs } = this.options
    const startedAt = machineTime()
    if (output.showsProgress) {
      locks.on('waiting', ({ holder }) => {
        output.note(
          `waiting for ${name}${holder ? `, held by ${holder.clientName ?? holder.owner}` : ''}`,
          {},
        )
      })
    }
    // Told by the exit code and a message of this program.
    locks.on('lost', () => undefined)
    try {
      const wanted = { name, lock, leaseMs, waitMs, signal: this.waitEnd.signal }
      const kept = await keep(locks, wanted, (permits) =>
        output.note(
          `${name} has ${permits} ${permits === 1 ? 'permit' : 'permits'}: whoever came first has decided`,
          {
            event: 'permits-differ',
            permits,
          },
        ),
      )
      const { owner, token } = kept
      if (output.json) {
        output.note('', {
          event: 'acquired',
          name,
          owner,
          token,
          waitedMs: Math.round(machineTime() - startedAt),
        })
      }
      return kept
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) {
        throw error
      }
      const { holder, message, waitedMs } = error
      output.note(message, { event: 'conflict', name, holder, waitedMs: Math.round(waitedMs) })
      return null
    }
  }

  private async runHolding(kept: Kept): Promise<number> {
    const { command: words, name, graceMs } = this.options
    const env = { ...this.surroundings.output.terminal.env, HOLDFAST_LOCK: name, HOLDFAST_OWNER: kept.owner }
    const command = GatedCommand.prepare(words, {
      ...env,
      ...(kept.token !== undefined && { HOLDFAST_TOKEN: kept.token }),
    })
    this.command = command
    this.group = await command.group()
    kept.signal.addEventListener('abort', this.onLost)
    // Until both know of the group and its end the command does not begin: whatever stops or dies meanwhile, it never does.
    this.guard(this.group)
    await Promise.race([this.guarded, command.ended])
    this.follower = setInterval(() => this.follow(), followEvery(this.options.leaseMs))
    if (kept.signal.aborted || this.waitEnd.signal.aborted) {
      this.onLost()
    } else {
      command.begin()
    }
    const code = await command.ended
    await command.endRest(graceMs)
    kept.signal.removeEventListener('abort', this.onLost)
    await this.forgetGroup()
    await this.release(kept)
    if (this.waitEnd.signal.aborted) {
      throw this.waitEnd.signal.reason
    }
    return code
  }

  /**
   * The group is empty, and its number may soon be another's. A release takes as long as Redis does, and by its end the
   * guardian would have called a command that has ended by itself a lost one.
   */
  private async forgetGroup(): Promise<void> {
    this.isOver = true
    clearInterval(this.follower)
    clearTimeout(this.restart)
    this.command = undefined
    this.group = undefined
    await this.guardian.dismiss()
  }

  private async release(kept: Kept): Promise<void> {
    try {
      await unlessAborted(this.releaseEnd.signal, kept.release())
    } catch (error) {
      // The command has done its work: the lease ends by itself.
      const { message } = error as Error
      this.surroundings.output.note(`the release is not confirmed: ${message}`, {
        event: 'release-unknown',
        message,
      })
    }
  }

  private lost(why: string): number {
    const { name, lostCode } = this.options
    this.surroundings.output.note(`lock "${name}" ${why}; the command was ended`, {
      event: 'lost',
      name,
      why,
    })
    return lostCode
  }

  private startGuardian(): GuardianLink {
    return GuardianLink.start(this.surroundings.guardian, {
      sent: () => {
        this.isEnding = true
        this.endedFor ??= 'could not be renewed in time'
      },
      gone: () => this.replaceGuardian(),
    })
  }

  /** It was killed. Meanwhile this process ends the group by itself, when the hold's signal aborts. */
  private replaceGuardian(): void {
    this.failures += 1
    if (this.isOver) {
      return
    }
    if (this.failures === MOST_FAILURES) {
      this.onUnguarded(new Error(`the guardian ${this.surroundings.guardian} does not start`))
    }
    this.restart = setTimeout(() => {
      this.guardian = this.startGuardian()
      if (this.group !== undefined) {
        this.guard(this.group)
      }
    }, this.failures * RESTART_MS)
  }

  private guard(group: number): void {
    if (!this.isEnding) {
      this.told = this.deadlines()
    }
    void this.guardian.guard(group, this.told).then(() => {
      this.failures = 0
      this.onGuarded()
    })
  }

  private deadlines(): Deadlines {
    const slept = sleptMs()
    const killAt = machineTime() + (this.kept?.trustedForMs ?? 0) - timeToDie(this.options.leaseMs)
    return { killAt, termAt: killAt - this.options.graceMs, slept }
  }

  /**
   * Tells the guardian of each renewal. Trust that is in doubt is shorter for a while; its end stays what it was. A command
   * that has been asked to end gets no more time: one that does not listen would go on without a limit.
   */
  private follow(): void {
    const deadlines = this.deadlines()
    if (!this.isOver && !this.isEnding && deadlines.killAt > this.told.killAt + 1) {
      this.told = deadlines
      this.guardian.trust(deadlines)
    }
  }

  /** Somebody else may have the lock by now: nothing is left of the command from here on. */
  private readonly onLost = (): void => {
    const reason: unknown = this.kept?.signal.reason
    this.endedFor ??= 'was lost'
    if (reason instanceof Error && (reason as { reason?: unknown }).reason === 'forced') {
      this.endedFor = 'was released by force'
    }
    this.command?.signal('SIGKILL')
  }

  private onSignal(signal: NodeJS.Signals): void {
    if (this.command) {
      this.command.signal(signal)
    } else if (ENDING.has(signal)) {
      const end = this.isOver ? this.releaseEnd : this.waitEnd
      end.abort(new EndedBySignal(signal))
    }
  }
}

/** On a busy machine a killed process is gone a while after its signal. */
function timeToDie(leaseMs: number): number {
  return Math.min(200, leaseMs / 15)
}

function followEvery(leaseMs: number): number {
  return Math.min(250, Math.max(10, leaseMs / 40))
}

/** The longest grace that a healthy renewal never comes near: renewals are due after a third of the lease. */
export function longestGrace(leaseMs: number): number {
  return Math.floor(leaseMs / 3)
}

/** @returns the default */
export function usualGrace(leaseMs: number): number {
  return Math.min(5_000, Math.floor(leaseMs / 6))
}
