import type { Context, Reenterable } from '../context.js'
import type { Loss } from '../hold.js'
import { OncePerName, warn } from '../events.js'
import { originInWords, type CallOrigins } from '../diagnostics/call-origins.js'
import type { ContextEndPolicy } from '../options.js'
import type { Background } from '../runtime/background.js'
import type { HeldLock } from './held-locks.js'
import { settleWithin } from '../runtime/settle-within.js'
import type { Runtime } from '../runtime/runtime.js'

/** What a context keeps: nothing but an acquisition is ever put into one. */
interface KeptLock extends Reenterable, HeldLock {
  readonly lockName: string
  readonly loss: Pick<Loss, 'afterLastLevel'>
}

interface Parts {
  readonly origins: CallOrigins
  readonly background: Background
  readonly closing: AbortSignal
  readonly runtime: Runtime
}

const warnedOf = new OncePerName()

/** What happens to levels that are still held when their context ends: nobody may be left to release them. */
export class ContextEnds {
  constructor(
    private readonly parts: Parts,
    private readonly policy: ContextEndPolicy,
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

  /** The context has ended. */
  ended(context: Context): void {
    if (this.policy === 'keep' || !context.keepsAny) {
      return
    }
    for (const kept of context.kept as KeptLock[]) {
      if (!kept.isOver && kept.latestLevel) {
        this.heldAfterEnd(kept, kept.latestLevel)
      }
    }
  }

  private heldAfterEnd(kept: KeptLock, level: object): void {
    const { origins, background } = this.parts
    if (this.policy === 'release') {
      background.run(this.releaseAfterGrace(kept))
    } else if (warnedOf.take(kept.lockName)) {
      warn(
        'HOLDFAST_HOLD_OUTLIVES_CONTEXT',
        `Lock "${kept.lockName}" is still held although the context that took it has ended: that of a run(), a request, ` +
          'a decorated method or a withLock(). It stays held, and is renewed, until the code that took it releases it; if ' +
          'that was forgotten, for as long as this process lives. Release it in a `finally`, or use lock.withLock(callback), ' +
          "which does. If work goes on after the context by design, set the client's option onContextEnd to 'keep'; to have " +
          `such locks released, to 'release'.\nTaken: ${originInWords(origins.find(level))}`,
      )
    }
  }

  /** Its holder is told at once, and has time to finish; the lock stays as long, unrenewed. */
  private async releaseAfterGrace(kept: KeptLock): Promise<void> {
    const holderDone = new Promise<void>((resolve) => (kept.loss.afterLastLevel = resolve))
    kept.lose('context-ended')
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
