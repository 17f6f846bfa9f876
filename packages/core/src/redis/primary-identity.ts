type Ask = (section: string) => Promise<unknown>

/**
 * Tells whether a connection still leads to the same data: a process of Redis has a run id, and a history of
 * replication an id of its own. A replica that was promoted, and a server that was restarted, have others.
 */
export class PrimaryIdentity {
  private known: string | undefined = undefined

  /** @returns that it is another one than at the last answer, or may be, because it does not tell (ACL) */
  async hasChanged(ask: Ask): Promise<boolean> {
    const answers = await Promise.all(['server', 'replication'].map(ask))
    const [server, replication] = answers.map(String) as [string, string]
    const runId = /^run_id:(\w+)/m.exec(server)?.[1]
    const historyId = /^master_replid:(\w+)/m.exec(replication)?.[1]
    const before = this.known
    this.known = `${runId} ${historyId}`
    return before !== undefined && (before !== this.known || runId === undefined)
  }
}
