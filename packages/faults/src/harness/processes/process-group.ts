import { readFileSync, readdirSync } from 'node:fs'

/** A process as Linux describes it. */
export interface ProcessState {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** One letter: R running, S sleeping, T stopped, Z a zombie. */
  readonly state: string
}

/** All processes of this machine that can be read. Linux alone. */
export function processes(): ProcessState[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => stateOf(Number(name)) ?? [])
}

/** The processes of a group that can still run. */
export function livingInGroup(group: number): ProcessState[] {
  return processes().filter((each) => each.group === group && each.state !== 'Z' && each.state !== 'X')
}

/** Null: it is gone. */
export function stateOf(pid: number): ProcessState | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold anything.
    const [state = '', parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { pid, state, parent: Number(parent), group: Number(group) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return null
    throw error
  }
}
