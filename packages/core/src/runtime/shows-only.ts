import type { InspectOptions } from 'node:util'

const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/**
 * What logs and consoles show of objects of a class: these properties alone. Behind the others are connections, with the
 * passwords that they were opened with, and circles that JSON refuses.
 */
export function showsOnly<T extends object>(
  type: { readonly prototype: T; readonly name: string },
  properties: readonly (keyof T & string)[],
): void {
  const shown = (of: T): object => Object.fromEntries(properties.map((name) => [name, of[name]]))
  function toJSON(this: T): object {
    return shown(this)
  }
  function inspected(
    this: T,
    depth: number,
    options: InspectOptions,
    inspect: (...args: unknown[]) => string,
  ): string {
    const { name } = this.constructor
    return depth < 0 ? `[${name}]` : `${name} ${inspect(shown(this), options)}`
  }
  Object.defineProperties(type.prototype, {
    toJSON: { value: toJSON, configurable: true, writable: true },
    [INSPECT]: { value: inspected, configurable: true, writable: true },
  })
}
