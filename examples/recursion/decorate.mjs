/**
 * The output of a compiler for decorators above methods: `decorate(Stock, { reserve: Locked({ ... }) })`.
 *
 * @param {Function} owner
 * @param {Record<string, Function>} decorators by the name of their method
 */
export const decorate = (owner, decorators) => {
  for (const [name, decorator] of Object.entries(decorators)) {
    const method = owner.prototype[name]
    owner.prototype[name] = decorator(method, { kind: 'method', name })
  }
}
