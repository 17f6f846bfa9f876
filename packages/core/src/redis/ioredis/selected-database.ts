import { isReplyError } from './sender.js'
import type { Runtime } from '../../runtime/runtime.js'
import { reconnectPause } from '../message-links.js'

/** Where the database of a connection is known, and asked for. */
export interface DatabaseOf {
  /** Undefined and 0: that of every new connection. */
  readonly wanted: number | undefined
  select(database: number): Promise<unknown>
}

/**
 * Whether a connection is in its database. If Redis refuses the number, ioredis emits an 'error' and goes on in the
 * database before, usually 0, where a lock excludes nobody who has the right one. So the database is selected once more
 * when the connection is ready, and nothing is sent until Redis has agreed. A refusal may pass (rights, a server that
 * was replaced): it is asked again, with pauses.
 */
export class SelectedDatabase {
  isConfirmed: boolean
  /** Redis's words when it last refused, and the number of the database. */
  refusal: { readonly error: Error; readonly database: number } | null = null
  private tries = 0
  /** The number of the connection that is asked. */
  private session = 0
  private retry: { cancel(): void } | null = null

  constructor(
    private readonly of: DatabaseOf,
    private readonly runtime: Runtime,
    private readonly changed: () => void,
  ) {
    this.isConfirmed = !of.wanted
  }

  /** To be called when the connection is ready. */
  ask(): void {
    this.left()
    const { session } = this
    const { wanted } = this.of
    if (!wanted) {
      this.refusal = null
      return
    }
    this.of.select(wanted).then(
      () => session === this.session && this.settle(null),
      (error: unknown) => {
        if (session === this.session) {
          // Any other error is one of the connection, and says nothing about the database.
          this.settle(isReplyError(error) ? { error, database: wanted } : this.refusal, false)
          this.tries += 1
          this.retry = this.runtime.setTimer(reconnectPause(this.tries, this.runtime.random()), () =>
            this.ask(),
          )
        }
      },
    )
  }

  /**
   * To be called with each error of the client, which emits the refusal before it sends again what was in flight when
   * the connection before broke.
   */
  heard(error: Error | undefined): void {
    const { command } = (error ?? {}) as { readonly command?: { readonly name?: string } }
    if (isReplyError(error) && command?.name === 'select') {
      this.refusal = { error, database: this.of.wanted ?? 0 }
    }
  }

  /** To be called when the connection has ended. */
  left(): void {
    this.session += 1
    this.retry?.cancel()
    this.retry = null
    this.isConfirmed = !this.of.wanted
  }

  private settle(refusal: SelectedDatabase['refusal'], isConfirmed = true): void {
    this.refusal = refusal
    this.isConfirmed = isConfirmed
    if (isConfirmed) {
      this.tries = 0
    }
    this.changed()
  }
}
