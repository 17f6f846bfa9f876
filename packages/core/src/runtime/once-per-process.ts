// One global key for all copies of this package in the process (ESM and CommonJS, two versions).
const GLOBAL_KEY = Symbol.for('holdfast.v1')
const shared = globalThis as { [GLOBAL_KEY]?: Record<string, unknown> | undefined }

/** A value shared by all copies of this package in a process; created by the first that needs it. */
export function oncePerProcess<T>(name: string, make: () => T): T {
  const things = (shared[GLOBAL_KEY] ??= {})
  return (things[name] ??= make()) as T
}
