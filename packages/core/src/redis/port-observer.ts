import type { PublishCommand } from './announcement.js'
import { ClusterPrimaries } from './cluster/primaries.js'
import { PublishChoice, type PublishChoiceParts } from './cluster/publish-choice.js'
import { Listeners } from './listeners.js'
import { Messages } from './messages.js'
import type { MessageLink, RedisNodes } from './nodes.js'
import type { PortTiming } from './port-options.js'
import type { PrimaryListener, RedisPort, ScriptTransport } from './redis-port.js'
import { SilentConnections, type SuspectConnection } from './silent-connections.js'

interface Parts {
  readonly nodes: RedisNodes
  readonly timing: PortTiming
  readonly isErrorReply: ScriptTransport['isErrorReply']
  /** Where messages may be sharded, as in a cluster. */
  readonly publishing?: Pick<PublishChoiceParts, 'shardedPubSub' | 'ask'>
}

/**
 * What a port observes and reports, the same for each client: how messages are published, their reception, which keys
 * have a new primary, which connections are half-open, and the listeners.
 */
export class PortObserver {
  readonly messages: Messages
  private readonly choice: PublishChoice
  private readonly primaries: ClusterPrimaries
  private readonly stateListeners = new Listeners()
  private readonly primaryListeners = new Listeners<Parameters<PrimaryListener>>()
  /** By the address of the node. */
  private readonly silent = new Map<string, SilentConnections>()

  constructor(private readonly parts: Parts) {
    const { nodes, timing, isErrorReply, publishing = UNSHARDED } = parts
    const { background: runtime, commandTimeout: timeoutMs } = timing
    const onChosen = (): void => {
      this.messages.follow()
      this.tellState()
    }
    this.choice = new PublishChoice({ runtime, isErrorReply, onChosen, ...publishing })
    const publishCommand = (): PublishCommand | null => this.choice.command
    const silent = (link: MessageLink): void => this.suspect(link.address, link)
    this.messages = new Messages({ nodes, runtime, timeoutMs, publishCommand, isErrorReply, silent })
    this.primaries = new ClusterPrimaries(runtime, nodes, isErrorReply, (verdict) =>
      this.primaryListeners.tell(verdict),
    )
  }

  /** Null until known, which is before the port is ready. */
  get publishCommand(): PublishCommand | null {
    return this.choice.command
  }

  readonly onStateChange: RedisPort['onStateChange'] = (listener) => this.stateListeners.add(listener)

  readonly onPrimary: RedisPort['onPrimary'] = (listener) => this.primaryListeners.add(listener)

  /** To be called at every change of the port's state. */
  tellState(): void {
    this.stateListeners.tell()
  }

  /** To be called when a primary is connected. */
  connected(): void {
    void this.choice.decide()
  }

  /** A connection to the node is ready, for the first time or again. */
  nodeReady(address: string, info: (section: string) => Promise<unknown>): void {
    this.primaries.ask(address, info)
  }

  /** The connection to the node has not answered in time. */
  suspect(address: string, connection: SuspectConnection): void {
    const { nodes, timing } = this.parts
    const { background: runtime, commandTimeout: timeoutMs } = timing
    const dial = () => nodes.probe(address)
    const there = this.silent.get(address) ?? new SilentConnections({ runtime, timeoutMs, dial })
    this.silent.set(address, there)
    there.suspect(connection)
  }

  /** A connection broke, or a command got no reply: the slots may have moved. */
  lookAround(): void {
    this.primaries.lookAround()
  }

  /** No listener is called from here on, also before the connections for messages have ended. */
  async close(): Promise<void> {
    this.choice.close()
    this.primaries.close()
    this.silent.forEach((each) => each.close())
    this.stateListeners.clear()
    this.primaryListeners.clear()
    await this.messages.close()
  }
}

const UNSHARDED: NonNullable<Parts['publishing']> = { shardedPubSub: 'off', ask: () => null }
