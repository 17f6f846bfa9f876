/**
 * For whom a result still counts that may have been invalidated.
 *
 * Commands are numbered, and a caller knows how many it came behind. An `invalidate` that had resolved before a caller came
 * is known to every command that is sent after it came: so each answer is for those who came before its command, and a
 * result that was invalidated for those alone who came before a command that found it valid. The others look again.
 *
 *   A comes ─► 1: under way ─► B comes ─► 2: valid ─► invalidate ─► C comes ─► 3: outdated
 *
 * The result is for A and B, who came before command 2. C came behind it, and looks again.
 */
export class Validity {
  private commands = 0
  /** The run whose result is waited for, by its owner, and the latest command that found it not outdated. */
  private run: { readonly owner: string; asOf: number } | null = null

  /** How many commands were sent: a caller that comes now is behind these. */
  get sent(): number {
    return this.commands
  }

  /** @returns the number of the command that is about to be sent */
  next(): number {
    return (this.commands += 1)
  }

  /** The owner of the run whose result is waited for. */
  get awaited(): string | undefined {
    return this.run?.owner
  }

  /** A command has found a run under way. */
  underWay(owner: string, isOutdated: boolean, asOf: number): void {
    if (!isOutdated) {
      this.run = { owner, asOf }
    } else if (this.run?.owner !== owner) {
      // Its result was invalid before anybody here saw it: its end matters, and its result does not.
      this.run = null
    }
  }

  /** A run begins here. Whoever is here came before it. */
  begins(owner: string): void {
    this.run = { owner, asOf: this.next() }
  }

  /** Until that command the run of this owner was not outdated: whoever had come by then may have its result. */
  wasValid(owner: string, asOf: number): void {
    if (this.run?.owner === owner) {
      this.run.asOf = Math.max(this.run.asOf, asOf)
    }
  }

  /** Nobody waits for its result any more. */
  forget(): void {
    this.run = null
  }

  /**
   * The run has ended.
   * @param isOutdated whether it was invalidated; undefined: not known
   * @param asOf the command that Redis answered so
   * @returns the command before which a caller must have come to have its result
   */
  countsBefore(isOutdated: boolean | undefined, asOf: number): number {
    return isOutdated === false ? asOf : (this.run?.asOf ?? 0)
  }
}
