import type { AcknowledgedLibrary, OwnAcknowledged } from '../acknowledged-connections.js'
import { wordsOf, type RunBy, type ScriptRun } from '../script-run.js'
import { placeOf, type ConnectionPlace } from '../connection-place.js'
import {
  duplicateForOnce,
  isNodeRedisReply,
  OwnNodeRedis,
  PLAIN,
  type Model,
  type NodeRedisClient,
} from './client.js'

type Asked = Model & Pick<NodeRedisClient, 'sendCommand'>

export const acknowledgedNodeRedis: AcknowledgedLibrary<Asked> = {
  placeOf: placeIn,
  databaseOf: () => '',
  open(client, place, onEnd) {
    // A URL would be preferred to the database; the options have its address and user.
    const overrides = place
      ? { url: undefined, database: place.database, ...(place.name ? { name: place.name } : {}) }
      : {}
    const connection = duplicateForOnce(client, {}, overrides)
    return connection && new AcknowledgedNodeRedis(connection, onEnd)
  },
}

function placeIn(client: Asked | NodeRedisClient): Promise<ConnectionPlace | null> {
  return placeOf(() => client.sendCommand(['CLIENT', 'INFO'], PLAIN), isNodeRedisReply)
}

class AcknowledgedNodeRedis extends OwnNodeRedis implements OwnAcknowledged {
  constructor(connection: NodeRedisClient, onEnd: () => void) {
    super(connection)
    connection.on('error', onEnd)
    connection.on('end', onEnd)
  }

  place(): Promise<ConnectionPlace | null> {
    return placeIn(this.client)
  }

  asking(): void {
    this.send('ASKING').catch(() => undefined)
  }

  run(run: ScriptRun, by: RunBy): Promise<unknown> {
    return this.send(...wordsOf(run, by))
  }

  async wait(replicas: number, timeoutMs: number): Promise<number> {
    return Number(await this.send('WAIT', `${replicas}`, `${timeoutMs}`))
  }

  private send(...args: string[]): Promise<unknown> {
    return this.client.sendCommand(args)
  }
}
