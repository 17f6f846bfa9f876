/** One for each outcome, as in sysexits.h where that has one. docs/cli.md has the same table, and a test compares them. */
export const EXIT = {
  /** Done. Of `run`: the command's own exit code, which may be any of these. */
  done: 0,
  /** The answer is no: the lock is free, or `doctor` found something. */
  no: 1,
  /** `break` was not confirmed; nothing was released. */
  declined: 3,
  /** The arguments cannot be meant. */
  usage: 64,
  /** The key of the name is no lock. */
  notALock: 65,
  /** Redis cannot be reached, or refuses to work. */
  unavailable: 69,
  /** A mistake in this program. */
  internal: 70,
  /** Another holder has the lock. `run -E` replaces it. */
  conflict: 75,
  /** The lock was lost, or was about to be, and the command was ended. `run --lost-exit-code` replaces it. */
  lost: 76,
  /** The command cannot be executed (the shell's codes). */
  notExecutable: 126,
  notFound: 127,
} as const

const SIGNALS_FROM = 128

/** The code of a process that a signal ended, as a shell tells it. */
export function codeOfSignal(number: number): number {
  return SIGNALS_FROM + number
}
