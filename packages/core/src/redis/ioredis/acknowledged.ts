import type { AcknowledgedLibrary, OwnAcknowledged } from '../acknowledged-connections.js'
import { scriptOf, type RunBy, type ScriptRun } from '../script-run.js'
import { placeOf, type ConnectionPlace } from '../connection-place.js'
import type { IoredisClient } from './client.js'
import { OwnIoredis } from './own-ioredis.js'
import { ignore, isReplyError, plainSender, type Sender } from './sender.js'

interface Waiting extends IoredisClient {
  wait(replicas: number, timeoutMs: number): Promise<number | string>
  asking(): Promise<unknown>
}

export const acknowledgedIoredis: AcknowledgedLibrary<IoredisClient> = {
  placeOf: placeIn,
  databaseOf: ({ condition }) => `${condition?.select ?? ''}`,
  open(client, place, onEnd) {
    const db = place?.database ?? client.condition?.select
    const name = place?.name
    const overrides = { ...(db === undefined ? {} : { db }), ...(name ? { connectionName: name } : {}) }
    return new AcknowledgedIoredis(client, overrides, onEnd)
  },
}

function placeIn(client: IoredisClient): Promise<ConnectionPlace | null> {
  return placeOf(() => client.client?.('INFO'), isReplyError)
}

class AcknowledgedIoredis extends OwnIoredis implements OwnAcknowledged {
  private readonly sender: Sender

  constructor(client: IoredisClient, overrides: object, onEnd: () => void) {
    super(client, overrides)
    this.connection.on('end', onEnd)
    this.sender = plainSender(this.connection)
  }

  /** ioredis stays in database 0 where SELECT is refused. */
  place(): Promise<ConnectionPlace | null> {
    return placeIn(this.connection)
  }

  asking(): void {
    this.client.asking().catch(ignore)
  }

  run(run: ScriptRun, by: RunBy): Promise<unknown> {
    return this.sender[by](scriptOf(run, by), run.keys.length, ...run.keys, ...run.args)
  }

  async wait(replicas: number, timeoutMs: number): Promise<number> {
    return Number(await this.client.wait(replicas, timeoutMs))
  }

  private get client(): Waiting {
    return this.connection as Waiting
  }
}
