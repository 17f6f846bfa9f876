// Capturing a call stack costs more than the rest of the call: a client does so for this many calls of each purpose.
export const MOST_ORIGINS = 1_000

/**
 * Where calls for locks were made, for warnings: of the first calls of a client. After them nothing is captured, and a
 * call costs the same as without this.
 */
export class CallOrigins {
  private readonly origins = new WeakMap<object, Error>()
  /** Waits are counted apart: they are fewer, and must not go without because of the calls. */
  private readonly left = { call: MOST_ORIGINS, wait: MOST_ORIGINS }

  /** @param purpose a call whose hold must be released by hand, or one about to wait for what its own client holds */
  of(purpose: 'call' | 'wait', method: string): Error | null {
    if (this.left[purpose] === 0) {
      return null
    }
    this.left[purpose] -= 1
    return new Error(`${method}()`)
  }

  /** `of`: the hold that came of the call. Forgotten with it. */
  keep(of: object, origin: Error | null): void {
    if (origin) {
      this.origins.set(of, origin)
    }
  }

  find(of: object | undefined): Error | undefined {
    return of && this.origins.get(of)
  }
}

/** Prints `lock(), at` and the stack. */
export function originInWords(origin: Error | null | undefined): string {
  if (!origin) {
    return `not recorded: a client records this of its first ${MOST_ORIGINS} calls`
  }
  const frames = (origin.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [origin.message, ...frames].join('\n')
}
