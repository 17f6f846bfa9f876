/** A lock or synchronizer, by Redisson's names. */
export type Kind =
  | 'lock'
  | 'fair'
  | 'read'
  | 'write'
  | 'fenced'
  | 'spin'
  | 'non-reentrant'
  | 'multi'
  | 'semaphore'
  | 'permits'
  | 'latch'

/** Options of one command; durations in milliseconds. */
export type CommandOptions = Readonly<Record<string, string | number>>

export interface Answer {
  readonly value: unknown
  /** When the call began and ended, ms of the clock that all processes of the machine share. */
  readonly from: number
  readonly to: number
}

/** The error that a call of the other process threw. */
export class RemoteError extends Error {
  override readonly name: string

  constructor(name: string, message: string) {
    super(message)
    this.name = name
  }
}

/** A process with one client, in either language, told what to do by the test. */
export interface Side {
  readonly language: 'java' | 'node'
  /**
   * Calls of one thread run one after another, and are one owner; those of different threads side by side.
   * @throws RemoteError
   */
  call(thread: string, verb: string, kind: Kind, name: string, options?: CommandOptions): Promise<Answer>
  kill(): Promise<void>
}

export interface SideOptions {
  readonly url: string
  readonly watchdogMs?: number
  readonly fairWaitMs?: number
  /** For Holdfast; Redisson has nothing like it. */
  readonly resyncMs?: number
  readonly prefix?: string
  /** The url is one node of a cluster. */
  readonly cluster?: true
}
