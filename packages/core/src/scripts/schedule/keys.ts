/** One schedule: the lock of its name, and its ticks in the same slot. */
export interface ScheduleCommand {
  readonly lockName: string
  readonly key: string
  readonly ticksKey: string
}

/** 400 days from the last change: a yearly schedule still finds its last run, a retired one leaves nothing. */
export const TICKS_TTL_MS = '34560000000'
/** The oldest make room. */
export const TICKS_KEPT = '100'
