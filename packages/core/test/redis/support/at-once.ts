import { it } from '@jest/globals'

interface Named {
  readonly name: string
}

/** Checks all at the same time. @throws Error with what each that failed says, under its name */
export async function atOnce<T extends Named>(
  all: readonly T[],
  check: (each: T) => Promise<void>,
): Promise<void> {
  const outcomes = await Promise.allSettled(all.map(check))
  const failures = outcomes.flatMap((outcome, i) =>
    outcome.status === 'rejected' ? [`${all[i]!.name}: ${told(outcome.reason)}`] : [],
  )
  if (failures.length > 0) throw new Error(failures.join('\n\n'))
}

/**
 * One test that checks all at the same time, for what waits for most of its time: one after another, ten kinds of lock
 * wait ten times as long. Each of them needs a name of its own in Redis.
 */
export function itAtOnce<T extends Named>(
  title: string,
  all: readonly T[],
  check: (each: T) => Promise<void>,
): void {
  it(`${title}: ${all.map(({ name }) => name).join(', ')}`, () => atOnce(all, check))
}

const told = (reason: unknown): string => (reason instanceof Error ? (reason.stack ?? '') : String(reason))
