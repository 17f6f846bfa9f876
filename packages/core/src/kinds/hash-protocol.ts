import type { Answer } from '@holdfast/waiter'
import type { ForeignRule } from '../arguments/foreign-locks.js'
import { heldByAncestor, type CallSite } from '../context/context.js'
import type { LockKind } from '../diagnostics/messages.js'
import { HolderChangedError, SelfDeadlockError, WrongTypeError } from '../errors.js'
import { tombstonePrefix, ownerField, wellFormed } from '../keys.js'
import { refuseForce, refuseWith, stateOf } from './foreign-holder.js'
import type { LockEntry } from '../entry/lock-entry.js'
import { lockHolder } from '../lock-holder.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import {
  explain,
  inspect,
  renew,
  shorten,
  type ForceOutcome,
  type ForceReleaseReply,
  type NamedOwners,
  type HoldArguments,
  type LockFacts,
  type LockState,
  type ReleaseReply,
} from '../scripts/lock.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { ShortenArguments, ShortenReply } from '../scripts/shorten.js'
import type { KindServices } from './services.js'
import { ALONE, type HoldChange, type ReentryRule, type AcquireTerms } from '../entry/entry-commands.js'
import type { CallerLine, LockProtocol, QueueCandidate } from './lock-protocol.js'
import type { LocalPassing } from '../pass/local-pass.js'

/** The key was overwritten with another type: the lock is gone. */
export function nullIfOverwritten(error: unknown): null {
  if (error instanceof WrongTypeError) {
    return null
  }
  throw error
}

/** The base of the locks that are one hash `owner -> holds` with a time to live. */
export abstract class HashProtocol implements LockProtocol {
  readonly key: string
  readonly shared: boolean = false
  readonly reentersLocally: boolean = false
  readonly passing: LocalPassing | null = null
  private readonly tombstonePrefix: string

  constructor(
    protected readonly session: KindServices,
    readonly lockName: string,
    readonly foreignLocks: ForeignRule,
  ) {
    this.key = wellFormed(session.keyPrefix + lockName)
    this.tombstonePrefix = tombstonePrefix(this.key)
  }

  abstract readonly kind: LockKind
  abstract readonly isAwaited: boolean
  abstract lineOf(standing: QueueCandidate): CallerLine
  abstract acquire<T>(
    change: HoldChange,
    terms: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Answer<T>
  abstract release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T>
  protected abstract forceReleaseHash(named: NamedOwners): Promise<ForceReleaseReply>

  get scope(): string {
    return this.key
  }

  ownerOf(threadId: number): string {
    return ownerField(this.session.clientId, threadId)
  }

  reentryRule(site: CallSite, isEndless: boolean): ReentryRule {
    const holder = isEndless ? heldByAncestor(site.context, this.scope) : undefined
    if (holder) {
      throw new SelfDeadlockError(this.lockName, holder.owner)
    }
    return ALONE
  }

  async extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'> {
    const [answer] = await renew(this.session.runner, { locks: [{ key: this.key, owner }], leaseMs })
    return answer ?? 'lost'
  }

  shorten(change: HoldChange, leaseMs: number | null): Promise<ShortenReply> {
    return shorten(this.session.runner, this.toShorten(change, leaseMs))
  }

  protected toShorten({ owner, stamp }: HoldChange, leaseMs: number | null): ShortenArguments {
    const { lockName, key } = this
    return { lockName, key, tombstoneKey: this.tombstoneKey(owner), owner, leaseMs, stamp }
  }

  inspect(timeoutMs?: number): Promise<LockState> {
    const { lockName, key } = this
    return stateOf(this.session, this, inspect(this.session.runner, { lockName, key, timeoutMs }))
  }

  async forceRelease(holder?: string): Promise<ForceOutcome> {
    const { runner } = this.session
    let owners = holder === undefined ? [] : [holder]
    let epoch = runner.connectionEpoch
    const force = async (): Promise<ForceOutcome> => {
      if (holder === undefined) {
        // A client sends a command again whose reply was lost. Without a name it would release the next holder, too.
        const { lockName, key } = this
        owners = [...(await inspect(runner, { lockName, key })).holds.keys()]
        epoch = runner.connectionEpoch
      }
      // No owner has an empty name: whoever comes in meanwhile keeps a lock that was free.
      const named = { owners: owners.length > 0 ? owners : [''], isOfCaller: holder !== undefined }
      return (await this.forceReleaseHash(named)).kind
    }
    const kind = await force().catch((error: unknown) => refuseForce(this.session, this, error))
    if (kind !== 'released' && owners.length > 0 && runner.connectionEpoch !== epoch) {
      // An earlier copy has released it, and none of them comes back.
      return 'released'
    }
    if (kind === 'held-by-another' && holder !== undefined) {
      throw holderChanged(this.lockName, holder, await this.inspect())
    }
    return kind
  }

  explain(): Promise<LockFacts | null> {
    const { lockName, key } = this
    const kind = { isAnything: false, isForeignLock: this.foreignLocks !== 'error' }
    return explain(this.session.runner, { lockName, key, ...kind }).catch(refuseWith(this))
  }

  async remaining(entry: LockEntry, timeoutMs?: number): Promise<number | null> {
    const state = await this.inspect(timeoutMs).catch(nullIfOverwritten)
    return state && entry.field.find(state.holds) !== undefined ? state.ttlMs : null
  }

  /** Whether holds of this client may have notes. */
  protected get isNoted(): boolean {
    return this.session.options.describeHolds !== undefined
  }

  protected argumentsOf({ owner, holds, stamp }: HoldChange): HoldArguments {
    return { tombstoneKey: this.tombstoneKey(owner), owner, holds, stamp }
  }

  protected tombstoneKey(owner: string): string {
    return this.tombstonePrefix + owner
  }
}

/** @param wanted the owner that was to lose the lock */
function holderChanged(
  lockName: string,
  wanted: string,
  { ttlMs: leaseLeftMs, holds: fields }: LockState,
): HolderChangedError {
  const [first, ...others] = fields
  const facts = { leaseLeftMs, heldForAtLeastMs: 0, others: others.length }
  const holder = first && lockHolder({ owner: first[0], holds: first[1], ...facts })
  return new HolderChangedError(lockName, wanted, holder)
}
