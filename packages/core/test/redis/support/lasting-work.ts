import type { Hold } from '../../../src/index.js'

/** Work that lasts until it is let go, and the hold meanwhile. */
export function lastingWork() {
  let end = (): void => undefined
  let begin!: (hold: Hold) => void
  const begun = new Promise<Hold>((resolve) => (begin = resolve))
  const ended = new Promise<void>((resolve) => (end = resolve))
  const work = (hold: Hold): Promise<void> => {
    begin(hold)
    return ended
  }
  return { begun, end, work }
}
