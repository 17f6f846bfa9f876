import { proofOf, QUEUED } from '../failures.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { PublishCommand } from '../announcement.js'
import type { ScriptTransport } from '../redis-port.js'

const ASK_AGAIN_MS = 200

export interface PublishChoiceParts {
  readonly runtime: Runtime
  readonly shardedPubSub: 'auto' | 'on' | 'off'
  /** Sends PUBSUB SHARDNUMSUB to a primary; null: none is connected. */
  readonly ask: () => Promise<unknown> | null
  readonly isErrorReply: ScriptTransport['isErrorReply']
  readonly onChosen: () => void
}

/**
 * Decides how messages of a cluster are published, by Redisson's test, so that both sides decide alike: whether a node
 * knows PUBSUB SHARDNUMSUB.
 */
export class PublishChoice {
  /** Null until known. */
  command: PublishCommand | null
  private isAsking = false
  private askAgain: { cancel(): void } | null = null
  private closed = false

  constructor(private readonly parts: PublishChoiceParts) {
    const { shardedPubSub } = parts
    this.command = shardedPubSub === 'auto' ? null : shardedPubSub === 'on' ? 'SPUBLISH' : 'PUBLISH'
  }

  /** To be called when a primary is connected. */
  async decide(): Promise<void> {
    const { runtime, ask, isErrorReply, onChosen } = this.parts
    const asking = this.command || this.isAsking || this.closed ? null : ask()
    if (!asking) {
      return
    }
    this.isAsking = true
    this.command = await asking.then(
      // In the application's transaction on that connection, any command is queued, known or not.
      (reply) => (reply === QUEUED ? null : ('SPUBLISH' as const)),
      (error: unknown) => (isErrorReply(error) && proofOf(error) === 'for good' ? 'PUBLISH' : null),
    )
    this.isAsking = false
    if (this.command) {
      onChosen()
    } else if (!this.closed) {
      this.askAgain = runtime.setTimer(ASK_AGAIN_MS, () => void this.decide())
    }
  }

  close(): void {
    this.closed = true
    this.askAgain?.cancel()
  }
}
