/** A rule that a world broke. */
export interface Finding {
  /** What is the same of two findings of one mistake. */
  readonly rule: string
  readonly text: string
  /** Absent when it concerns no single lock. */
  readonly lock?: string | undefined
  /** Until when the world has to go on to show it. */
  readonly untilMs: number
}
