import type { PrimaryVerdict, ScriptTransport } from './redis-port.js'

type Ask = (section: string) => Promise<unknown>

/**
 * Tells whether a connection still leads to the same data: a process of Redis has a run id, and a history of
 * replication an id of its own. A replica that was promoted, and a server that was restarted, have others.
 */
export class PrimaryIdentity {
  private known: string | undefined = undefined

  constructor(private readonly isErrorReply: ScriptTransport['isErrorReply']) {}

  /** All keys, or those that are said to be there, when it is another one than before. Never rejects. */
  verdict(ask: Ask, isThere: (key: string) => boolean = () => true): Promise<PrimaryVerdict> {
    return this.hasChanged(ask).then(
      (hasChanged) => (hasChanged ? isThere : null),
      // The connection broke again: the next one will be asked.
      () => null,
    )
  }

  /** Or may have, because it does not tell (ACL, providers). */
  private async hasChanged(ask: Ask): Promise<boolean> {
    const info = await ask('default').catch((error: unknown) => {
      if (this.isErrorReply(error)) {
        return ''
      }
      throw error
    })
    const [, runId] = /^run_id:(\w+)/m.exec(String(info)) ?? []
    const [, historyId] = /^master_replid:(\w+)/m.exec(String(info)) ?? []
    const before = this.known
    this.known = `${runId} ${historyId}`
    return before !== undefined && (before !== this.known || runId === undefined)
  }
}
