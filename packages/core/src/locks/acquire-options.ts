import type { AcquireOptions } from '../acquire-call.js'
import type { KnownKeys } from '../known-keys.js'
import { checkOptions } from '../validate.js'

const ACQUIRE_OPTIONS: KnownKeys<AcquireOptions> = { waitMs: true, leaseMs: true, signal: true }

/** What is in them is checked by the call. @throws InvalidArgumentError */
export function checkAcquireOptions(options: AcquireOptions): void {
  checkOptions('options', options, ACQUIRE_OPTIONS)
}
