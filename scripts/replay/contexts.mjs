import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * A logical thread that lasts: what is called inside it re-enters the same locks, from its first call to its last.
 *
 * @typedef {object} LastingContext
 * @property {(name: string) => any} getLock
 * @property {<T>(callback: () => T) => T} inside
 * @property {() => void} end
 */

/** Passed by hand. @returns {LastingContext} */
const byHand = (locks) => {
  const thread = locks.thread()
  return { getLock: (name) => thread.getLock(name), inside: (callback) => callback(), end: () => undefined }
}

/** Found around the caller. @returns {LastingContext} */
const ambient = (locks) => {
  let end
  let inside
  // It lives until what its callback returns has settled.
  locks.run(() => {
    inside = AsyncLocalStorage.snapshot()
    return new Promise((resolve) => (end = resolve))
  })
  return { getLock: (name) => locks.getLock(name), inside, end }
}

/** One of each kind in turn. */
export const openContext = (locks, number) => (number % 2 === 0 ? byHand : ambient)(locks)
