/** A process warning: what the board is given by others has failed, and nobody waits for it. */
export function warn(what: string, error: unknown): void {
  process.emitWarning(`${what}: ${String(error)}`, { type: 'HoldfastWarning', code: 'HOLDFAST_LISTENER' })
}
