/**
 * How a command of a lock fails.
 * `error`: Redis answers with this error, and does not run it. `cut`: the connection breaks, before the command has run
 * or after; it comes back at once, and the command is sent again, as ioredis does. `silence`: no answer comes, so that
 * its caller runs into `commandTimeout`.
 */
export type Failure =
  { readonly error: string } | { readonly cut: 'before' | 'after' } | { readonly silence: 'before' | 'after' }

/** Which commands `failNext` lets fail. */
export interface FailNextOptions {
  /** How many commands fail. Default 1. */
  readonly times?: number | undefined
  /** Only runs of this script, such as `lock/acquire`: the first line of each script of Holdfast has its name. */
  readonly script?: string | undefined
}

interface Planned {
  readonly failure: Failure
  readonly script: string | undefined
  left: number
}

/** Failures that wait for their command. */
export class Failures {
  private planned: Planned[] = []

  plan(failure: Failure, { times = 1, script }: FailNextOptions): void {
    this.planned.push({ failure, script, left: times })
  }

  /** The failure of this run of a script; null: it goes through. */
  next(script: string | undefined): Failure | null {
    const found = this.planned.find((each) => each.script === undefined || each.script === script)
    if (!found) {
      return null
    }
    found.left -= 1
    this.planned = this.planned.filter(({ left }) => left > 0)
    return found.failure
  }
}
