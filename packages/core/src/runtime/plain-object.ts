/** Whether the value is an object like `{}`, from any realm: not an array, not an instance of a class. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) {
    return false
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Whether the value is an object with all of these methods. */
export function hasMethods(value: unknown, ...names: readonly string[]): value is Record<string, unknown> {
  const methods = value as Record<string, unknown> | null
  return (
    typeof methods === 'object' &&
    methods !== null &&
    names.every((name) => typeof methods[name] === 'function')
  )
}
