/** Made by `{}`, in whatever realm: no list, no class of its own. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) {
    return false
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
