// Under one key, whatever copies of this package are loaded (ESM and CommonJS, two versions).
const GLOBAL_KEY = Symbol.for('holdfast.v1')
const shared = globalThis as { [GLOBAL_KEY]?: Record<string, unknown> | undefined }

/** What all copies of this package in a process share: made by the first that asks for it. */
export function oncePerProcess<T>(name: string, make: () => T): T {
  const things = (shared[GLOBAL_KEY] ??= {})
  return (things[name] ??= make()) as T
}
