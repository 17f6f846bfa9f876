/** Whether the value is an object like `{}`, from any realm: not an array, not an instance of a class. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) {
    return false
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
