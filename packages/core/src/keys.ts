// Every key and channel name, and nothing else builds one. The names of Redisson are its own, byte for byte
// (docs/wire-format.md); keys of ours start with "holdfast:".

/** Redisson's prefix rule: a name with "{" anywhere brings its own hash tag, any other becomes the tag. */
function tagged(prefix: string, rawName: string): string {
  return rawName.includes('{') ? `${prefix}:${rawName}` : `${prefix}:{${rawName}}`
}

/** What the release of a lock is announced on. */
export function unlockChannel(rawName: string): string {
  return tagged('redisson_lock__channel', rawName)
}

/** Latches of one lock; the owner is appended. */
export function latchPrefix(rawName: string): string {
  return `${tagged('holdfast:latch', rawName)}:`
}

/** What a batch of scripts writes nothing into, in the slot of its locks. Never exists. */
export function probeKey(rawName: string): string {
  return tagged('holdfast:probe', rawName)
}

/** What a client hears about its own holds on; the client id is appended. */
export const INBOX_PREFIX = 'holdfast:client:'

/** The owner field of a lock hash. */
export function ownerField(clientId: string, threadId: number): string {
  return `${clientId}:${threadId}`
}
