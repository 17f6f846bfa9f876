import { createRequire } from 'node:module'

/** One use of a global that tells the time, orders what runs, or is random. */
export interface GlobalUse {
  readonly name: string
  /** The line that used it, as a stack names it. */
  readonly caller: string
}

// Its own copies: an `import` of them would fix what others import before the spies are in place.
const require = createRequire(import.meta.url)
const crypto = require('node:crypto') as Record<string, unknown> & { readonly webcrypto: object }
const timers = require('node:timers') as Record<string, unknown>
const promisedTimers = require('node:timers/promises') as Record<string, unknown>

const TARGETS: readonly (readonly [string, object, readonly string[]])[] = [
  ['', globalThis, ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask']],
  ['Date.', Date, ['now']],
  ['performance.', performance, ['now']],
  ['process.', process, ['nextTick', 'hrtime', 'uptime']],
  ['Math.', Math, ['random']],
  ['AbortSignal.', AbortSignal, ['timeout']],
  ['timers.', timers, ['setTimeout', 'setInterval', 'setImmediate']],
  ['timers/promises.', promisedTimers, ['setTimeout', 'setInterval', 'setImmediate']],
  ['crypto.', crypto, ['randomBytes', 'randomInt', 'randomUUID', 'randomFill', 'randomFillSync']],
  ['webcrypto.', Object.getPrototypeOf(crypto.webcrypto) as object, ['getRandomValues', 'randomUUID']],
]

/** The code of this project, and of others in its bundles. */
const OURS = /\/packages\/(?:core|waiter|watchdog)\/src\/|\/node_modules\/(?:nanoid|p-retry)\//

/**
 * Notes every use of such a global by the packages, from now on. To be called before they are loaded: what they bind at
 * load is noted, too.
 */
export class ProcessSpies {
  private uses: GlobalUse[] = []
  private readonly undo: (() => void)[] = []

  constructor() {
    TARGETS.forEach(([prefix, target, names]) => {
      names.forEach((name) => this.spyOn(target as Record<string, unknown>, name, `${prefix}${name}`))
    })
    this.spyOnDates()
  }

  /** The globals used since the last time, and by which line, each once. */
  take(): GlobalUse[] {
    const byText = new Map(this.uses.map((use) => [`${use.name} ${use.caller}`, use]))
    this.uses = []
    return [...byText.values()]
  }

  restore(): void {
    this.undo.splice(0).forEach((undo) => undo())
  }

  private spyOn(target: Record<string, unknown>, name: string, shown: string): void {
    const had = Object.getOwnPropertyDescriptor(target, name)
    const real = target[name] as (...args: unknown[]) => unknown
    const note = (): void => this.note(shown)
    const spy = function (this: unknown, ...args: unknown[]): unknown {
      note()
      return Reflect.apply(real, this, args)
    }
    Object.defineProperty(target, name, {
      // `process.hrtime.bigint` and the like stay.
      value: Object.assign(spy, real),
      configurable: true,
      writable: true,
      enumerable: had?.enumerable ?? true,
    })
    this.undo.push(() => {
      if (had) {
        Object.defineProperty(target, name, had)
      } else {
        Reflect.deleteProperty(target, name)
      }
    })
  }

  /** `new Date()` and `Date()`, which ask for the time as `Date.now` does. */
  private spyOnDates(): void {
    const real = Date
    const note = (): void => this.note('new Date')
    globalThis.Date = new Proxy(real, {
      construct(target, args: unknown[], newTarget) {
        if (args.length === 0) note()
        return Reflect.construct(target, args as [], newTarget) as Date
      },
      apply(target, self, args) {
        note()
        return Reflect.apply(target, self, args) as string
      },
    })
    this.undo.push(() => (globalThis.Date = real))
  }

  private note(name: string): void {
    const stack = new Error().stack?.split('\n').slice(4) ?? []
    // Its direct caller: what a Redis client does in a call of ours is its own.
    const caller = stack.find((line) => !line.includes('<anonymous>')) ?? ''
    if (OURS.test(caller)) {
      this.uses.push({ name, caller: caller.trim() })
    }
  }
}
