import { AsyncLocalStorage } from 'node:async_hooks'
import type { Lock, LockClient } from '@holdfast/core'

/** A logical thread that lasts: what is called inside it re-enters the same locks, from its first call to its last. */
export interface LastingContext {
  readonly getLock: (name: string) => Lock
  readonly inside: <T>(callback: () => T) => T
  readonly end: () => void
}

/** A thread that is passed to each call. */
const explicit = (locks: LockClient): LastingContext => {
  const thread = locks.thread()
  return {
    getLock: (name) => thread.getLock(name),
    inside: (callback) => callback(),
    end: () => undefined,
  }
}

/** Found around the caller. */
const ambient = (locks: LockClient): LastingContext => {
  let end = (): void => undefined
  let inside: LastingContext['inside'] = (callback) => callback()
  // It lives until what its callback returns has settled.
  void locks.run(() => {
    inside = AsyncLocalStorage.snapshot()
    return new Promise<void>((resolve) => (end = resolve))
  })
  return { getLock: (name) => locks.getLock(name), inside, end }
}

/** One of each kind in turn. */
export const openContext = (locks: LockClient, number: number): LastingContext =>
  (number % 2 === 0 ? explicit : ambient)(locks)
