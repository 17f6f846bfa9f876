/** A method that `@Locked` fits: one that gives a promise, because it may have to wait. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- any method there is; its type is kept as it is
export type LockableMethod = (...args: any[]) => Promise<any>

/** What the decorated method becomes: the same, where it can give undefined for a call that was skipped. */
export type OrUndefined<M extends LockableMethod> =
  undefined extends Awaited<ReturnType<M>>
    ? M
    : (...args: Parameters<M>) => Promise<Awaited<ReturnType<M>> | undefined>

/** `T`, where the functions among the options take what the method takes. */
export type Fitting<M extends LockableMethod, Args extends readonly unknown[], T> =
  Parameters<M> extends [...Args, ...unknown[]] ? T : never

/** A decorator of both standards: TC39's, and that of TypeScript's `experimentalDecorators`. */
export interface LockedDecorator<Args extends readonly unknown[]> {
  <M extends LockableMethod>(method: M, context: Fitting<M, Args, ClassMethodDecoratorContext>): M
  <M extends LockableMethod>(
    prototype: object,
    name: string | symbol,
    descriptor: Fitting<M, Args, TypedPropertyDescriptor<M>>,
  ): TypedPropertyDescriptor<M>
}

/** The same for a method that may be skipped: it must be able to give undefined. */
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
