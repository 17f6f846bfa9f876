import { randomBytes } from 'node:crypto'

// Clocks and timers that a drop-in takes from the process: it has no client, and so no Runtime, of its own.

/** Wall-clock ms: `expiration` of a lock is compared with `Date.now()`. */
export function wallNow(): number {
  return Date.now()
}

/** Monotonic ms. */
export function now(): number {
  return performance.now()
}

/** Uniform in [0, 1). */
export function random(): number {
  return Math.random()
}

export function randomValue(): string {
  return randomBytes(16).toString('hex')
}

/** Calls back after so many ms, at least 0; returns a function that cancels it. */
export function after(delayMs: number, callback: () => void): () => void {
  const timeout = setTimeout(callback, Math.max(0, delayMs))
  return () => clearTimeout(timeout)
}

export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => after(delayMs, resolve))
}
