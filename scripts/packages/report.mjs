import { performance } from 'node:perf_hooks'

/** Counts checks and prints one line for each, with the reason below it when it failed. */
export class Report {
  passed = 0
  failed = 0
  #signal

  /** @param {AbortSignal} signal after which failures are no findings any more */
  constructor(signal) {
    this.#signal = signal
  }

  /**
   * @param {string} what
   * @param {() => unknown} body a failure is what it throws
   * @returns {Promise<boolean>} whether it passed
   */
  async check(what, body) {
    const startedAt = performance.now()
    try {
      await body()
    } catch (error) {
      this.#signal.throwIfAborted()
      this.failed += 1
      console.log(`FAILED  ${what}\n${indented(error)}`)
      return false
    }
    this.passed += 1
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    console.log(`ok      ${what} (${seconds} s)`)
    return true
  }

  summary() {
    return `${this.passed} passed, ${this.failed} failed`
  }
}

const indented = (error) =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/^/gm, '        ')
