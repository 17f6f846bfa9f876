import type { Context, Reenterable } from '../context/context.js'
import { OncePerName, warn } from '../events.js'
import { originInWords, type CallOrigins } from '../diagnostics/call-origins.js'
import type { ResolvedOptions } from '../options.js'
import type { Background } from '../runtime/background.js'
import type { HeldLock } from './held-locks.js'
import { settleWithin } from '../runtime/settle-within.js'
import type { Runtime } from '../runtime/runtime.js'

/** Acquisitions are all that is ever put into a context. */
type KeptLock = Reenterable &
  HeldLock & { readonly lease: { readonly loss: { afterLastLevel: (() => void) | null } } }

interface Parts {
  readonly origins: CallOrigins
  readonly background: Background
  readonly closing: AbortSignal
  readonly runtime: Runtime
}

const warnedOf = new OncePerName()
const reenteredOf = new OncePerName()

/** Deals with levels that are still held when their context ends: there may be no code left to release them. */
export class ContextEnds {
  /** By context: what tells the contexts of other clients that end with it. */
  private readonly linked = new WeakMap<Context, readonly (() => void)[]>()

  constructor(
    private readonly parts: Parts,
    private readonly policy: ResolvedOptions['onContextEnd'],
    private readonly graceMs: number,
  ) {}

  /** From now on the context re-enters it; that of a call that was not awaited may have ended. */
  keep(acquisition: Reenterable, context: Context): void {
    context.keep(acquisition)
    if (!context.alive) {
      // Where the lock was taken is known once the caller has it.
      this.parts.runtime.nextTick(() => this.ended(context))
    }
  }

  /** Another client has a context that ends with this one: that client decides about the holds there. */
  link(context: Context, ended: () => void): void {
    this.linked.set(context, [...(this.linked.get(context) ?? []), ended])
  }

  /** The context has ended. */
  ended(context: Context): void {
    this.linked.get(context)?.forEach((tell) => tell())
    if (this.policy === 'keep' || !context.keepsAny) {
      return
    }
    const held = (context.kept as KeptLock[]).filter((kept) => !kept.isOver && kept.latestLevel)
    if (this.policy === 'release') {
      held.forEach((kept) => this.parts.background.run(this.releaseAfterGrace(kept)))
    } else if (held.length > 0) {
      this.warnOf(held)
    }
  }

  /** The callback of a `withLock` has succeeded while another one, which re-entered its hold, is still inside. */
  reentered(lockName: string): void {
    if (this.policy !== 'keep' && reenteredOf.take(lockName)) {
      warnOfReentry(lockName)
    }
  }

  private warnOf(held: readonly KeptLock[]): void {
    const { origins } = this.parts
    // The members of a multi lock were taken by one call: one mistake, reported once.
    const byOrigin = new Map<unknown, { readonly names: string[]; readonly origin: Error | undefined }>()
    for (const { lockName, latestLevel } of held) {
      const origin = origins.find(latestLevel)
      const call = byOrigin.get(origin ?? latestLevel) ?? { names: [], origin }
      call.names.push(lockName)
      byOrigin.set(origin ?? latestLevel, call)
    }
    for (const { names, origin } of byOrigin.values()) {
      if (names.filter((name) => warnedOf.take(name)).length > 0) {
        warnOfHold(names.join(', '), origin)
      }
    }
  }

  /** Its holder's signal aborts at once, and it has time to finish; until then the lock stays, unrenewed. */
  private async releaseAfterGrace(kept: KeptLock): Promise<void> {
    const holderDone = new Promise<void>((resolve) => (kept.lease.loss.afterLastLevel = resolve))
    kept.lease.lose('context-ended')
    await this.grace(holderDone)
    await kept.releaseOnClose()
  }

  /** Over when the holder has released by itself, after `graceMs`, or when the client closes. */
  private async grace(holderDone: Promise<void>): Promise<void> {
    const { closing, runtime } = this.parts
    if (closing.aborted) {
      return
    }
    const stop = new AbortController()
    const closes = new Promise<void>((resolve) =>
      closing.addEventListener('abort', () => resolve(), { signal: stop.signal }),
    )
    await settleWithin(Promise.race([holderDone, closes]), this.graceMs, runtime)
    stop.abort()
  }
}

function warnOfHold(name: string, origin: Error | undefined): void {
  warn(
    'HOLDFAST_HOLD_OUTLIVES_CONTEXT',
    `Lock "${name}" is still held although the context that took it has ended: that of a run(), a request, ` +
      'a decorated method or a withLock(). It stays held, and is renewed, until the code that took it releases it; if ' +
      'that was forgotten, for as long as this process lives. Release it in a `finally`, or use lock.withLock(callback), ' +
      "which does. If work goes on after the context by design, set the client's option onContextEnd to 'keep'; to have " +
      `such locks released, to 'release'.`,
    `\nTaken: ${originInWords(origin)}`,
  )
}

function warnOfReentry(name: string): void {
  warn(
    'HOLDFAST_REENTRY_NOT_AWAITED',
    `A withLock() of "${name}" that re-entered another one is still inside, and the callback of that one has ended: the two ` +
      'ran at once, under one hold. Await the inner call. Or it is the job of another caller, which a queue runs in the ' +
      'context of whoever made the queue run: there, call detached(() => lock.withLock(...)), which excludes the others.',
  )
}
