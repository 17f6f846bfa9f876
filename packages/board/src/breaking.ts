import { createHmac, timingSafeEqual } from 'node:crypto'
import { InvalidArgumentError, isLockError, type LockClient, type Runtime } from '@holdfast/core'
import type { SeenLock } from '@holdfast/core/observe'
import type { Collector } from './collect/collector.js'
import type { BoardRequest } from './http/exchange.js'
import type { BoardLogEntry, Settings } from './options.js'
import { permissionOf } from './permission.js'
import { warn } from './warning.js'

const TOKEN_LASTS_MS = 3_600_000
const SECRET_BYTES = 32

/** The header that a form of another origin cannot send. */
export const TOKEN_HEADER = 'x-holdfast-token'

export interface BreakOutcome {
  readonly status: number
  readonly outcome: BoardLogEntry['outcome']
  /** For the page. */
  readonly message: string
}

/**
 * Releases a lock by force for somebody on the page: only with `authorize`, only for a request of the board's own page,
 * and only from the holder that the page showed. Each attempt is logged.
 */
export class LockBreaker {
  private readonly secret: string | Uint8Array

  constructor(
    private readonly locks: LockClient,
    private readonly collector: Collector,
    private readonly settings: Settings,
    private readonly runtime: Runtime,
  ) {
    this.secret = settings.secret ?? runtime.bytes(SECRET_BYTES).slice()
  }

  /** For the page: a page of another origin cannot read it. */
  token(): string {
    const issuedAt = Math.floor(this.runtime.wallNow())
    return `${issuedAt}.${this.signatureOf(issuedAt)}`
  }

  async break(request: BoardRequest): Promise<BreakOutcome> {
    const lockName = request.query.get('lock') ?? ''
    const holder = request.query.get('holder') ?? ''
    const { user, ...outcome } = await this.tryBreak(request, lockName, holder)
    this.log({ lockName, holder, user, outcome: outcome.outcome, detail: outcome.message })
    return outcome
  }

  private async tryBreak(
    request: BoardRequest,
    lockName: string,
    holder: string,
  ): Promise<BreakOutcome & { readonly user?: string | undefined }> {
    const refusal = this.forgery(request)
    if (refusal !== null) {
      return { status: 403, outcome: 'denied', message: refusal }
    }
    if (lockName === '' || holder === '') {
      return { status: 400, outcome: 'denied', message: 'The request names no lock and holder.' }
    }
    if (!this.settings.authorize) {
      return { status: 403, outcome: 'denied', message: 'This board is read-only.' }
    }
    const permission = await permissionOf(this.settings, request, { type: 'break', lockName, holder })
    if (!permission.isAllowed) {
      return { status: 403, outcome: 'denied', message: 'You may not break this lock.' }
    }
    return { ...(await this.forceUnlock(lockName, holder)), user: permission.user }
  }

  /** Why the request cannot be one of the board's own page; null: it is. */
  private forgery(request: BoardRequest): string | null {
    const site = request.header('sec-fetch-site')
    if ((site !== undefined && site !== 'same-origin') || !isSameHost(request)) {
      return 'The request comes from another site.'
    }
    return this.isToken(request.header(TOKEN_HEADER) ?? '') ? null : 'The token is missing or too old.'
  }

  private isToken(token: string): boolean {
    const [, issued = '', signature = ''] = /^(\d{1,15})\.([\w-]{43})$/.exec(token) ?? []
    const age = this.runtime.wallNow() - Number(issued)
    const isTimely = issued !== '' && age <= TOKEN_LASTS_MS && age >= -TOKEN_LASTS_MS
    return isTimely && timingSafeEqual(Buffer.from(signature), Buffer.from(this.signatureOf(Number(issued))))
  }

  private signatureOf(issuedAt: number): string {
    return createHmac('sha256', this.secret).update(`holdfast board ${issuedAt}`).digest('base64url')
  }

  private async forceUnlock(lockName: string, holder: string): Promise<BreakOutcome> {
    try {
      const seen = await this.collector.lookAt(lockName)
      const shown = seen?.holders.find(({ owner }) => owner === holder)
      if (seen && !shown) {
        const now = seen.holders.map(({ owner }) => owner).join(', ')
        return { status: 409, outcome: 'changed', message: `${now} has the lock by now, and keeps it.` }
      }
      if (shown?.foreign === true || shown?.handedOver === true) {
        return {
          status: 409,
          outcome: 'denied',
          message: 'Only the library that took this lock may release it.',
        }
      }
      const isReleased = await this.lockOf(lockName, seen).forceUnlock({ holder })
      await this.collector.lookAt(lockName)
      return isReleased
        ? { status: 200, outcome: 'released', message: `Released. ${holder} has been told.` }
        : { status: 200, outcome: 'not-held', message: 'Nobody has the lock any more.' }
    } catch (error) {
      return outcomeOf(error)
    }
  }

  /** The kind of lock whose release wakes those that wait for it. */
  private lockOf(
    name: string,
    seen: SeenLock | undefined,
  ): { forceUnlock(options: { holder: string }): Promise<boolean> } {
    if (seen?.mode !== undefined) {
      const both = this.locks.getReadWriteLock(name)
      return seen.mode === 'read' ? both.readLock() : both.writeLock()
    }
    const isFair = seen?.kind === 'fair' || this.collector.table.kindOf(name).endsWith('fair')
    return isFair ? this.locks.getFairLock(name) : this.locks.getLock(name)
  }

  private log(entry: Omit<BoardLogEntry, 'action' | 'at'>): void {
    const at = new Date(this.runtime.wallNow())
    const failed = (error: unknown): void => {
      warn('log() of the board failed', error)
    }
    try {
      // The lock is released by now, or not: what becomes of the log changes no answer.
      const logging: unknown = this.settings.log({ action: 'break', ...entry, at })
      Promise.resolve(logging).catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

function isSameHost(request: BoardRequest): boolean {
  const [origin, host] = [request.header('origin'), request.header('host')]
  try {
    return origin !== undefined && host !== undefined && new URL(origin).host === host.toLowerCase()
  } catch {
    // `null`, of a page without an origin.
    return false
  }
}

function outcomeOf(error: unknown): BreakOutcome {
  if (isLockError(error, 'HOLDER_CHANGED')) {
    return { status: 409, outcome: 'changed', message: error.message }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { status: error instanceof InvalidArgumentError ? 400 : 503, outcome: 'failed', message }
}
