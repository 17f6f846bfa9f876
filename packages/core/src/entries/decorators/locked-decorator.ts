/** A method that `@Locked` accepts: it returns a promise, because the call may have to wait. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- any method there is; its type is kept as it is
export type LockableMethod = (...args: any[]) => Promise<any>

/** The type of the decorated method: a skipped call may return undefined. */
export type OrUndefined<M extends LockableMethod> =
  undefined extends Awaited<ReturnType<M>>
    ? M
    : (...args: Parameters<M>) => Promise<Awaited<ReturnType<M>> | undefined>

/** `T` if the functions among the options accept the method's parameters. */
export type Fitting<M extends LockableMethod, Args extends readonly unknown[], T> =
  Parameters<M> extends [...Args, ...unknown[]] ? T : never

/** A decorator of both standards: TC39, and TypeScript's `experimentalDecorators`. */
export interface LockedDecorator<Args extends readonly unknown[]> {
  <M extends LockableMethod>(method: M, context: Fitting<M, Args, ClassMethodDecoratorContext>): M
  <M extends LockableMethod>(
    prototype: object,
    name: string | symbol,
    descriptor: Fitting<M, Args, TypedPropertyDescriptor<M>>,
  ): TypedPropertyDescriptor<M>
}

/** The same for a method whose calls may be skipped: its result type must include undefined. */
export interface SkippingDecorator<Args extends readonly unknown[]> {
  <M extends LockableMethod>(
    method: M,
    context: Fitting<M, Args, ClassMethodDecoratorContext>,
  ): OrUndefined<M>
  <M extends LockableMethod>(
    prototype: object,
    name: string | symbol,
    descriptor: Fitting<M, Args, TypedPropertyDescriptor<M>>,
  ): TypedPropertyDescriptor<OrUndefined<M>>
}
