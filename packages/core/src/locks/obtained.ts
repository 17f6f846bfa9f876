import type { Busy, Held } from '../acquire/call-in-progress.js'
import type { Hold } from '../hold.js'

// The methods of a lock turn the hold that a call obtained into their result.

export function heldOrThrow(obtained: Held | Busy): Held {
  if (obtained.kind === 'busy') {
    throw obtained.error()
  }
  return obtained
}

export function holdOrThrow(obtained: Held | Busy): Hold {
  return heldOrThrow(obtained).hold
}

export function holdOrNull(obtained: Held | Busy): Hold | null {
  return obtained.kind === 'busy' ? null : obtained.hold
}

export function isHeld(obtained: Held | Busy): boolean {
  return obtained.kind === 'held'
}
