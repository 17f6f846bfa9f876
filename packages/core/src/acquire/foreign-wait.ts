import type { Answer, Attempt } from '@holdfast/waiter'
import type { AcquireCall } from './acquire-call.js'
import { unavailableOrThrow } from './failed-try.js'
import type { AcquireServices } from './services.js'
import { WrongTypeError } from '../errors.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { pauseBehindForeign } from '../kinds/foreign-looks.js'
import { formatValue } from '../runtime/format-value.js'
import type { HeldReply } from '../scripts/acquire-reply.js'

/**
 * So many refusals for a string that is gone before the look are no chance: where strings come and go in between, at
 * most one in four is of that kind. What was refused is another key of the lock.
 */
const MOST_IN_VAIN = 20

/** The caller that tries. */
export interface Trier {
  /** It has left: nothing may be taken for it any more. */
  readonly hasLeft: boolean
  tryInRedis(): Answer<Attempt<boolean>>
  onReply(reply: HeldReply): Attempt<boolean>
}

/**
 * The wait of one caller behind a string lock of another library. Made when Redis first says WRONG_TYPE.
 *
 *    try ──WRONG_TYPE──► look ──string──► pause ──► look ──string──► pause ...
 *     ▲                   │ └─another type─► WRONG_TYPE   │
 *     └──────gone─────────┴─────────────gone──────────────┘
 */
export class ForeignWait {
  /** The latest look found a string: the next one comes before a try, which would be refused. */
  private isBehindString = false
  private inVain = 0

  constructor(
    private readonly session: AcquireServices,
    private readonly protocol: LockProtocol,
    private readonly caller: Trier,
  ) {}

  /** Tells what kept a try from the lock. @throws WrongTypeError `refusal`: no string, now or ever */
  async afterRefusal(refusal: WrongTypeError): Promise<Attempt<boolean>> {
    const attempt = await this.look(refusal)
    this.inVain = attempt ? 0 : this.inVain + 1
    if (this.inVain === MOST_IN_VAIN) {
      throw refusal
    }
    return attempt ?? { kind: 'refused', retryAfterMs: 0 }
  }

  /** Half the commands of a try that is refused and looks then. Null: it need not look. */
  lookThenTry(): Promise<Attempt<boolean>> | null {
    return this.isBehindString ? this.tryUnlessString() : null
  }

  private async tryUnlessString(): Promise<Attempt<boolean>> {
    const attempt = await this.look()
    if (attempt) {
      return attempt
    }
    return this.caller.hasLeft ? { kind: 'refused' } : await this.caller.tryInRedis()
  }

  /** Null: no string is there any more. */
  private async look(refusal?: WrongTypeError): Promise<Attempt<boolean> | null> {
    const found = await this.session.foreignLooks.at(this.protocol).catch(unavailableOrThrow)
    if (found.kind === 'unavailable') {
      return found
    }
    this.isBehindString = found.kind === 'string'
    if (found.kind === 'another-type' && refusal) {
      throw refusal
    }
    return found.kind === 'string'
      ? this.caller.onReply({
          kind: 'held',
          ttlMs: found.ttlMs,
          holder: found.value,
          holds: 1,
          isForeign: true,
        })
      : null
  }
}

/**
 * The pause of a caller behind a string lock, ms; undefined: it is woken in another way.
 * @throws WrongTypeError its wait has no limit, and nothing says that the string will ever go
 */
export function pauseBehindString(
  { lastHolders, options }: AcquireServices,
  { protocol, limits, waitedMs }: AcquireCall,
  { ttlMs, holder }: HeldReply,
): number | undefined {
  const { key, lockName, foreignLocks } = protocol
  const seenForMs = lastHolders.seenForMs(key)
  const mayLast = foreignLocks !== 'error' && foreignLocks.withoutTtl === 'wait'
  const isEndless = limits.waitMs === undefined && ttlMs === -1 && !mayLast
  // Both: a caller that comes later has a wait of its own, and a string that took the place of another is news.
  if (isEndless && Math.min(seenForMs, waitedMs) >= options.unavailableTimeoutMs) {
    const since = `has been there for ${Math.round(seenForMs)} ms, without a time to live`
    const advice = "If it is a lock that may last, set foreignLocks: { withoutTtl: 'wait' }"
    throw new WrongTypeError(
      lockName,
      key,
      new Error(`the string ${formatValue(holder)} ${since}. ${advice}`),
    )
  }
  return protocol.standsBehindForeign ? undefined : pauseBehindForeign(seenForMs)
}
