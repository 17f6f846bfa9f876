/**
 * Milliseconds of the clock that all processes of one machine share and nobody sets. Not `performance.timeOrigin`, when
 * each of them began: that is read from two clocks one after the other, and on a busy machine it is milliseconds off.
 */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6

/**
 * Settles as `promise` does, or rejects after `limitMs`.
 *
 * @template T
 * @param {Promise<T>} promise
 * @param {number} limitMs
 * @param {string} what what was waited for, for the error
 * @returns {Promise<T>}
 */
export const within = (promise, limitMs, what) => {
  const limit = new Promise((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ${what} within ${limitMs} ms`)), limitMs)
    const cancel = () => clearTimeout(timer)
    promise.then(cancel, cancel)
  })
  return Promise.race([promise, limit])
}
