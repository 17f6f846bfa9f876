const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}]/gu

/** A process warning: what the board is given by others has failed, and nobody waits for it. */
export function warn(what: string, error: unknown): void {
  const text = String(error).replace(
    UNPRINTABLE,
    (character) => `\\u{${character.charCodeAt(0).toString(16)}}`,
  )
  process.emitWarning(`${what}: ${text}`, { type: 'HoldfastWarning', code: 'HOLDFAST_LISTENER' })
}
