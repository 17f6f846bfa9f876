/** A rule that a world broke. */
export interface Finding {
  /** The part that two findings of one mistake share. */
  readonly rule: string
  readonly text: string
  /** Absent when it concerns no single lock. */
  readonly lock?: string | undefined
  /** Until when the world has to go on to show it. */
  readonly untilMs: number
}
