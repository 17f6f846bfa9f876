import type { Runtime } from '../../runtime/runtime.js'
import { PrimaryIdentity } from '../primary-identity.js'
import type { PrimaryListener, ScriptTransport } from '../redis-port.js'
import type { RedisNodes } from '../nodes.js'

const LOOK_AGAIN_MS = 250

/** Detects that slots have a new primary: another node, or the same node after a restart. */
export class ClusterPrimaries {
  private owners: readonly (string | undefined)[]
  private again: { cancel(): void } | null = null
  private closed = false
  private readonly identities = new Map<string, PrimaryIdentity>()
  private readonly stopFollowing: () => void

  constructor(
    private readonly runtime: Runtime,
    private readonly cluster: RedisNodes,
    private readonly isErrorReply: ScriptTransport['isErrorReply'],
    private readonly tell: PrimaryListener,
  ) {
    this.owners = cluster.owners()
    this.stopFollowing = cluster.onRefreshed(this.compare)
  }

  /** A connection to the node is ready, for the first time or again. */
  ask(address: string, info: (section: string) => Promise<unknown>): void {
    const identity = this.identities.get(address) ?? new PrimaryIdentity(this.isErrorReply)
    this.identities.set(address, identity)
    const isThere = (key: string): boolean => this.owners[this.cluster.slotOf(key)] === address
    this.tell(identity.verdict(info, isThere))
  }

  /**
   * A connection broke, or a command got no reply. Clients reload the slots only when a command is redirected: one
   * that merely holds or waits would not notice a fail-over.
   */
  lookAround(): void {
    if (this.cluster.isReady) {
      this.cluster.refresh()
    }
    if (!this.closed) {
      this.again ??= this.runtime.setTimer(LOOK_AGAIN_MS, () => {
        this.again = null
        if (this.isSomeoneAway()) {
          this.lookAround()
        }
      })
    }
  }

  close(): void {
    this.closed = true
    this.again?.cancel()
    this.stopFollowing()
  }

  private readonly compare = (): void => {
    const before = this.owners
    const now = this.cluster.owners()
    this.owners = now
    const isMoved = (owner: string | undefined, slot: number): boolean =>
      owner !== undefined && owner !== now[slot]
    const moved = new Set(before.flatMap((owner, slot) => (isMoved(owner, slot) ? [slot] : [])))
    if (moved.size > 0) {
      this.tell((key) => moved.has(this.cluster.slotOf(key)))
    }
  }

  private isSomeoneAway(): boolean {
    const places = [...new Set(this.owners)]
    // Asks all of them: those that are not connected yet begin with this.
    const away = places.filter((address) => address !== undefined && !this.cluster.isPresent(address))
    return away.length > 0
  }
}
