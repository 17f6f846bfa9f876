import { default as untyped } from 'bluebird'

/** Called once with the result of an operation: its error, or null and its value. */
export type Callback<T> = (error: Error | null, value?: T) => void

/** A resource that `using` of bluebird acquires and releases. */
export interface Disposer<T> {
  /** Returns the resource that is acquired. @throws as `lock` */
  promise(): Promise<T>
}

interface BluebirdPromise<T> extends Promise<T> {
  asCallback(callback: Callback<T> | undefined): BluebirdPromise<T>
  disposer(dispose: (value: T) => PromiseLike<void>): Disposer<T>
}

const bluebird = untyped as unknown as { resolve<T>(work: Promise<T>): BluebirdPromise<T> }

/** A promise of bluebird, because callers of redlock 4 call its methods; also calls the callback, if there is one. */
export function promised<T>(work: Promise<T>, callback?: Callback<T>): BluebirdPromise<T> {
  return bluebird.resolve(work).asCallback(callback)
}
