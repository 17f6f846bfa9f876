import type { ConnectionPlace } from './connection-place.js'
import type { AcknowledgedConnection } from './redis-port.js'
import type { SuspectConnection } from './silent-connections.js'

/** A connection of our own on which replicas are waited for. It never reconnects. */
export interface OwnAcknowledged extends AcknowledgedConnection, SuspectConnection {
  place(): Promise<ConnectionPlace | null>
  end(): unknown
}

/** How a client library opens them. `C`: a client of it. */
export interface AcknowledgedLibrary<C> {
  placeOf(client: C): Promise<ConnectionPlace | null>
  /** The database that the client is in as far as the library knows, as text; '' where it does not say. */
  databaseOf(client: C): string
  /**
   * Null: it is not known yet where to connect.
   * @param place where, if that is another place than the client's options say
   */
  open(client: C, place: ConnectionPlace | null, onEnd: () => void): OwnAcknowledged | null
}

/** One connection per address on which replicas are waited for. The next use after its end opens another. */
export class AcknowledgedConnections<C> {
  private readonly connections = new Map<string, OwnAcknowledged>()
  /** By the database of the client. */
  private readonly neighbours = new Map<string, Promise<AcknowledgedConnection>>()

  constructor(private readonly library: AcknowledgedLibrary<C>) {}

  /** Null: it is not known yet where to connect. */
  at(address: string, client: C): AcknowledgedConnection | null {
    return this.connections.get(address) ?? this.dial(address, client, null)
  }

  /**
   * To where the connection of this client is now, which its options may not say: after `select()` a duplicate would be in
   * another database, and its locks would exclude nobody.
   */
  beside(client: C): Promise<AcknowledgedConnection> {
    // A client that has moved since then gets another connection.
    const database = this.library.databaseOf(client)
    const there = this.neighbours.get(database)
    if (there) {
      return there
    }
    const isWanted = (): boolean => this.neighbours.get(database) === opening
    const opening: Promise<AcknowledgedConnection> = this.open(database, client, isWanted)
    this.neighbours.set(database, opening)
    // The commands that wait for it report the failure.
    opening.catch(() => undefined)
    return opening
  }

  /** Calls `use` with each of them. */
  forEach(use: (connection: SuspectConnection, address: string) => void): void {
    this.connections.forEach(use)
  }

  async close(): Promise<void> {
    const all = [...this.connections.values()]
    this.connections.clear()
    this.neighbours.clear()
    await Promise.all(all.map((each) => each.end()))
  }

  /** @throws Error it was not opened, or is not wanted any more, or is in another database */
  private async open(database: string, client: C, isWanted: () => boolean): Promise<AcknowledgedConnection> {
    const forget = (): void => {
      if (isWanted()) {
        this.neighbours.delete(database)
      }
    }
    let opened: OwnAcknowledged | null = null
    try {
      const place = await this.library.placeOf(client)
      if (!isWanted()) {
        throw new Error('The connection for replicas is not needed any more.')
      }
      opened = this.dial(database, client, place, forget)
      if (!opened) {
        throw new Error('It is not known yet where to connect.')
      }
      requireSamePlace(await opened.place(), place)
      return opened
    } catch (error) {
      forget()
      if (opened) {
        this.drop(database, opened)
      }
      throw error
    }
  }

  private dial(
    address: string,
    client: C,
    place: ConnectionPlace | null,
    onEnd: () => void = () => undefined,
  ): OwnAcknowledged | null {
    const opened = this.library.open(client, place, () => {
      this.drop(address, opened)
      onEnd()
    })
    if (opened) {
      this.connections.set(address, opened)
    }
    return opened
  }

  private drop(address: string, connection: OwnAcknowledged | null): void {
    if (this.connections.get(address) === connection) {
      this.connections.delete(address)
    }
    void connection?.end()
  }
}

/** @throws Error a lock taken there would be another one than that of the client's own connection */
function requireSamePlace(own: ConnectionPlace | null, wanted: ConnectionPlace | null): void {
  if (own && wanted && own.database !== wanted.database) {
    throw new Error(
      `The connection for replicas is in database ${own.database}, and that of the client in ${wanted.database}.`,
    )
  }
}
