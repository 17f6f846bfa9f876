/** The attributes of metrics and spans. */
export const ATTRIBUTES = {
  /** The template of the lock's name. */
  name: 'holdfast.lock.name',
  kind: 'holdfast.lock.kind',
  outcome: 'holdfast.lock.outcome',
  path: 'holdfast.lock.path',
  /** Why a hold was lost. */
  reason: 'holdfast.lock.loss.reason',
  /** The code of a LockError, or the name of another error. */
  errorType: 'error.type',
  /** Only on spans, like `holder`. */
  owner: 'holdfast.lock.owner',
  holder: 'holdfast.lock.holder',
} as const

/** A word of low cardinality for an error. */
export function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return 'other'
  }
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : error.name
}
