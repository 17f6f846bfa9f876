const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }

/**
 * A signal that aborts when the process is asked to end. Ending is left to the listeners, which close
 * connections and stop servers first; the exit code is set already.
 *
 * @returns {AbortSignal}
 */
export const interruption = () => {
  const controller = new globalThis.AbortController()
  for (const [name, number] of Object.entries(SIGNAL_NUMBERS)) {
    process.once(name, () => {
      process.exitCode = 128 + number
      controller.abort(new Error(`Ended by ${name}.`))
    })
  }
  return controller.signal
}
