/** Who holds a lock and who waits for it, in order. */
interface Contended {
  readonly holders: readonly { readonly owner: string }[]
  readonly waiters: readonly { readonly owner: string }[]
}

interface Seen {
  readonly holder: string
  readonly first: string
  readonly times: number
}

/**
 * How often each lock was seen with another holder while the same waiter stood first. A lower bound: turns between two
 * looks are not seen.
 */
export class Overtakings {
  private readonly byName = new Map<string, Seen>()

  /** @returns the times by now */
  count(name: string, { holders, waiters }: Contended): number {
    const [[holder], [first]] = [holders, waiters]
    // Readers hold a lock together: one that comes overtakes nobody.
    if (!first || !holder || holders.length > 1) {
      this.byName.delete(name)
      return 0
    }
    const before = this.byName.get(name)
    const isSame = before?.first === first.owner
    const times = isSame ? before.times + Number(before.holder !== holder.owner) : 0
    this.byName.set(name, { holder: holder.owner, first: first.owner, times })
    return times
  }

  forget(name: string): void {
    this.byName.delete(name)
  }
}
