import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LockClient } from '@holdfast/core'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Timers that keep the process alive. */
export const timers = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

/** Heap in use, bytes, after unreachable objects are collected. */
export const heapInUse = async (): Promise<number> => {
  for (let i = 0; i < 3; i += 1) {
    collect()
    await sleep(20)
  }
  return process.memoryUsage().heapUsed
}

interface Inside {
  readonly session: {
    readonly waiter: { readonly size: number; readonly lines: { readonly size: number } }
    readonly lastHolders: { readonly byKey: { readonly size: number } }
    readonly held: { readonly all: readonly unknown[] }
    readonly background: { readonly size: number }
  }
}

/**
 * What a client keeps of callers, by its own account. Its fields are private to TypeScript only; where one is renamed
 * one day, this fails.
 */
const keptBy = (client: LockClient): Record<string, number> => {
  const { session } = client as unknown as Inside
  return {
    callers: session.waiter.size,
    lines: session.waiter.lines.size,
    'last holders': session.lastHolders.byKey.size,
    holds: session.held.all.length,
    'background work': session.background.size,
  }
}

/** What of it is not nothing. */
export const tracesIn = (client: LockClient, timersBefore: number): string[] =>
  Object.entries({ ...keptBy(client), timers: timers() - timersBefore })
    .filter(([, times]) => times !== 0)
    .map(([what, times]) => `${times} ${what}`)
