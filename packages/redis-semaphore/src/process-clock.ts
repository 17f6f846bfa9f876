import { randomUUID } from 'node:crypto'

// Clocks and timers that a drop-in takes from the process: it has no client, and so no Runtime, of its own.

export function randomIdentifier(): string {
  return randomUUID()
}

/** Calls back again and again, without keeping the process alive; returns a function that ends it. */
export function every(intervalMs: number, callback: () => void): () => void {
  const interval = setInterval(callback, intervalMs)
  interval.unref()
  return () => clearInterval(interval)
}

/** Monotonic ms. */
export function now(): number {
  return performance.now()
}

export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs))
}
