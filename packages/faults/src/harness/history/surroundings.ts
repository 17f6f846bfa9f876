import type { FaultLog, FaultSpan } from './fault-log.js'

/** The faults of a run, and the options of `checkHistory` that say what they explain. */
export interface Surroundings {
  readonly faults: FaultLog
  readonly grantLagMs: number
  readonly lastingTokens: (lock: string) => boolean
  readonly someReleaseEarly: boolean
}

/** The loss of data, or of this lock alone, that explains what happened between two moments. */
export const excuseOf = (
  lock: string,
  { faults, grantLagMs }: Surroundings,
  { fromMs, toMs, alone = false }: { fromMs: number; toMs: number; alone?: boolean },
): FaultSpan['fault'] | undefined => {
  const loss = alone ? faults.lockLossBegunBy(lock, toMs) : faults.dataLossBegunBy(lock, toMs)
  return loss !== undefined && loss.over.atMs >= fromMs - grantLagMs ? loss.fault : undefined
}
