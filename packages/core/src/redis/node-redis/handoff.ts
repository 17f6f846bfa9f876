import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { PLAIN, type NodeRedisClient } from './client.js'

const HANDOFF = 'node-redis:connection:handoff'
const COMMAND_SENT = 'tracing:node-redis:command:start'

/** The handshake of its next connection is queued by the client that the socket came from, which nobody uses: for ever. */
export const HANGS_AFTER_HANDOFF =
  ' The node-redis client followed a server that moved (MOVING), and does not come back when the connection that it has ' +
  "since breaks: restart, and give it maintNotifications: 'disabled'."

/** The fields that node-redis, 5.12 and newer, puts into the messages of its diagnostics channels. */
interface Told {
  readonly clientId?: unknown
  readonly database?: unknown
}

type Handed = Pick<NodeRedisClient, 'sendCommand'> & {
  readonly _clientId?: unknown
  readonly options?: { readonly database?: number } | undefined
}

/**
 * Calls the listener when node-redis has swapped the socket of this client, because the server announced that it moves
 * (MOVING): no event of the client tells that. Nothing that was called meanwhile is written yet.
 * @returns a function that removes the listener
 */
export function onHandoff(client: Handed, listener: () => void): () => void {
  const { _clientId: id } = client
  if (id === undefined) {
    return () => undefined
  }
  const heard = (told: unknown): void => {
    if ((told as Told).clientId === id) {
      selectAgain(client)
      listener()
    }
  }
  subscribe(HANDOFF, heard)
  return () => void unsubscribe(HANDOFF, heard)
}

/**
 * The new socket is in the database of the options, and not in the one that the application has selected since: locks
 * would be taken in the wrong database. The client knows that, and says so when it sends a command.
 */
function selectAgain(client: Handed): void {
  let database: unknown
  const heard = (told: unknown): void => {
    const { clientId, database: told0 } = told as Told
    database = clientId === client._clientId ? told0 : database
  }
  subscribe(COMMAND_SENT, heard)
  client.sendCommand(['PING'], PLAIN).catch(ignore)
  unsubscribe(COMMAND_SENT, heard)
  if (typeof database === 'number' && database !== (client.options?.database ?? 0)) {
    // Before what was called meanwhile.
    client.sendCommand(['SELECT', `${database}`], { ...PLAIN, asap: true }).catch(ignore)
  }
}

function ignore(): void {
  // A broken connection reports that itself, and selects when it connects again.
}
