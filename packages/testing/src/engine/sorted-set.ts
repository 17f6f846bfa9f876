/** Members in the order of their scores, those of equal scores in that of their bytes. */
export class SortedSet {
  private readonly scores = new Map<string, number>()
  /** All members, in order. */
  readonly members: string[] = []

  get size(): number {
    return this.members.length
  }

  score(member: string): number | undefined {
    return this.scores.get(member)
  }

  set(member: string, score: number): void {
    const before = this.scores.get(member)
    if (before === score) {
      return
    }
    if (before !== undefined) {
      this.members.splice(this.placeOf(member, before), 1)
    }
    this.members.splice(this.placeOf(member, score), 0, member)
    this.scores.set(member, score)
  }

  delete(member: string): boolean {
    const score = this.scores.get(member)
    if (score === undefined) {
      return false
    }
    this.members.splice(this.placeOf(member, score), 1)
    return this.scores.delete(member)
  }

  /** The place of a member that is there, from 0. */
  rank(member: string): number | undefined {
    const score = this.scores.get(member)
    return score === undefined ? undefined : this.placeOf(member, score)
  }

  scoreAt(place: number): number {
    return this.scores.get(this.members[place] as string) as number
  }

  /** How many members stand before the first whose score `isReached`. */
  placeWhere(isReached: (score: number) => boolean): number {
    return this.search((place) => isReached(this.scoreAt(place)))
  }

  private placeOf(member: string, score: number): number {
    return this.search((place) => {
      const there = this.scoreAt(place)
      return there > score || (there === score && (this.members[place] as string) >= member)
    })
  }

  private search(isReached: (place: number) => boolean): number {
    let low = 0
    let high = this.members.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isReached(middle)) {
        high = middle
      } else {
        low = middle + 1
      }
    }
    return low
  }
}
