import { readFileSync, readdirSync } from 'node:fs'

/**
 * Signals a process group.
 * @returns false: no process of it is left
 */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch (error) {
    // EPERM: its processes are there, and belong to another user by now.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Whether a process of the group can still run. A process that has ended can be signalled until its parent asks about it,
 * which in a container may be never: the first process there, which inherits it, is often no init.
 */
export function canGroupRun(group: number): boolean {
  if (!signalGroup(group, 0)) {
    return false
  }
  if (process.platform !== 'linux') {
    return true
  }
  // Most often it is the leader that runs: one file is read then, not one for each process of the machine.
  // Twice: a process that was born while the others were read, of a parent that has ended since, is in the second list.
  return isRunningIn(group, `${group}`) || isAnyRunningIn(group) || isAnyRunningIn(group)
}

function isAnyRunningIn(group: number): boolean {
  try {
    return readdirSync('/proc').some((name) => /^\d+$/.test(name) && isRunningIn(group, name))
  } catch {
    // No /proc: what can be signalled counts as running.
    return true
  }
}

function isRunningIn(group: number, pid: string): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', , of] = fields
    // A process whose first thread has ended is shown as a zombie while its other threads run.
    const isOver = state === 'X' || (state === 'Z' && Number(fields[THREADS]) <= 1)
    return Number(of) === group && !isOver
  } catch {
    // It ended between two calls.
    return false
  }
}

/** Field 20 of proc_pid_stat(5), of which the first two are cut off. */
const THREADS = 17
