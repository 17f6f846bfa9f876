import { untilKnown, type LockServices } from '../door.js'
import {
  begin,
  finish,
  finishScript,
  miss,
  type BeginArguments,
  type BeginReply,
  type FinishArguments,
  type ScheduleArguments,
} from './scripts.js'

/** Records the ticks of one schedule in Redis; each command is retried until its outcome is known. */
export class TickCommands {
  constructor(
    private readonly session: LockServices,
    private readonly schedule: ScheduleArguments,
  ) {}

  begin(run: Pick<BeginArguments, 'owner' | 'tick' | 'atLeastForMs' | 'near'>): Promise<BeginReply> {
    return this.known(() => begin(this.session.runner, { ...this.schedule, ...run }))
  }

  /** Redis has answered `finish` on this connection. */
  get isFinishKnown(): boolean {
    return this.session.runner.knows(finishScript, this.schedule.key)
  }

  /** Never rejects: whether or not the record is written, the work is done or has failed. */
  async finish(owner: string, state: FinishArguments['state'], error: unknown): Promise<void> {
    const text = error === undefined ? '' : textOf(error)
    const given = { ...this.schedule, owner, state, error: text }
    await this.known(() => finish(this.session.runner, given)).catch(() => undefined)
  }

  async miss(tick: number): Promise<void> {
    await this.known(() => miss(this.session.runner, { ...this.schedule, tick }))
  }

  private known<T>(command: () => Promise<T>): Promise<T> {
    const { runtime, options } = this.session
    return untilKnown(command, this.session, runtime.now() + options.unavailableTimeoutMs)
  }
}

const LONGEST_TEXT = 200

function textOf(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, LONGEST_TEXT)
}
