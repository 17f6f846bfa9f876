import type { PublishCommand } from '../announcement.js'
import { Listeners } from '../listeners.js'
import type { PortOptions } from '../port-options.js'
import type { PrimaryListener, RedisPort, ScriptTransport } from '../redis-port.js'
import { ClusterMessages } from './messages.js'
import { ClusterPrimaries } from './primaries.js'
import { PublishChoice, type PublishChoiceParts } from './publish-choice.js'
import type { ClusterView } from './view.js'

export interface ClusterObserverParts {
  readonly cluster: ClusterView
  readonly options: PortOptions
  /** Sends PUBSUB SHARDNUMSUB to a primary; null: none is connected. */
  readonly askForSharded: PublishChoiceParts['ask']
  readonly isErrorReply: ScriptTransport['isErrorReply']
}

/**
 * What a port over a cluster observes and reports, the same for each client: how messages are published, their reception,
 * which slots have a new primary, and the listeners of both.
 */
export class ClusterObserver {
  readonly messages: ClusterMessages
  private readonly choice: PublishChoice
  private readonly primaries: ClusterPrimaries
  private readonly stateListeners = new Listeners()
  private readonly primaryListeners = new Listeners<Parameters<PrimaryListener>>()

  constructor({ cluster, options, askForSharded, isErrorReply }: ClusterObserverParts) {
    const { background: runtime, shardedPubSub } = options
    const onChosen = (): void => {
      this.messages.follow()
      this.tellState()
    }
    this.choice = new PublishChoice({ runtime, shardedPubSub, ask: askForSharded, isErrorReply, onChosen })
    const publishCommand = (): PublishCommand | null => this.choice.command
    this.messages = new ClusterMessages({ cluster, runtime, publishCommand, isErrorReply })
    this.primaries = new ClusterPrimaries(runtime, cluster, isErrorReply, (verdict) =>
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

  /** A connection broke, or a command got no reply: the slots may have moved. */
  lookAround(): void {
    this.primaries.lookAround()
  }

  /** No listener is called from here on, also before the connections for messages have ended. */
  async close(): Promise<void> {
    this.choice.close()
    this.primaries.close()
    this.stateListeners.clear()
    this.primaryListeners.clear()
    await this.messages.close()
  }
}
