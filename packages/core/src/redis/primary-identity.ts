import type { PrimaryVerdict, ScriptTransport } from './redis-port.js'

type Ask = (section: string) => Promise<unknown>

/**
 * Detects whether a connection leads to the same data as before. A Redis process has a run id, and its replication
 * history an id of its own; a promoted replica and a restarted server have others.
 */
export class PrimaryIdentity {
  private known: string | undefined = undefined

  constructor(private readonly isErrorReply: ScriptTransport['isErrorReply']) {}

  /** If the server has changed, all keys, or those that `isThere` accepts. Never rejects. */
  verdict(ask: Ask, isThere: (key: string) => boolean = () => true): Promise<PrimaryVerdict> {
    return this.hasChanged(ask).then(
      (hasChanged) => (hasChanged ? isThere : null),
      // The connection broke again: the next one will be asked.
      () => null,
    )
  }

  /** Also true when the server does not reveal its ids (ACL, providers). */
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
