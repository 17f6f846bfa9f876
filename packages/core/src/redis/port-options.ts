import type { Runtime } from '../runtime/runtime.js'

/** What a port needs beside its client. */
export interface PortOptions {
  readonly shardedPubSub: 'auto' | 'on' | 'off'
  /** Its timers do not keep the process alive. */
  readonly background: Runtime
}
