import type { Runtime } from '../runtime/runtime.js'

/** The options that a port needs beside its client. */
export interface PortOptions {
  readonly shardedPubSub: 'auto' | 'on' | 'off'
  /** Its timers do not keep the process alive. */
  readonly background: Runtime
  /** How long an answer may take, ms. */
  readonly commandTimeout: number
}

/** The options that a port to one server needs. */
export type PortTiming = Pick<PortOptions, 'background' | 'commandTimeout'>
