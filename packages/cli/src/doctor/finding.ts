/** Something that endangers locks, and what to do about it. */
export interface Finding {
  /** Stable: for programs that read `--json`. docs/cli.md lists all. */
  readonly id: string
  /** `error`: locks fail, or two can hold one. `warning`: they will, when something else happens. */
  readonly level: 'error' | 'warning'
  readonly found: string
  readonly remedy: string
}

/** Checks that could not be made, and why. */
export interface Unchecked {
  readonly what: string
  readonly why: string
}

export interface Diagnosis {
  readonly findings: readonly Finding[]
  readonly unchecked: readonly Unchecked[]
}

export function error(id: string, found: string, remedy: string): Finding {
  return { id, level: 'error', found, remedy }
}

export function warning(id: string, found: string, remedy: string): Finding {
  return { id, level: 'warning', found, remedy }
}
