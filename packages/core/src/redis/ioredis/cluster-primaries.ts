import { backgroundClock } from '../../runtime/time.js'
import { nodeKey, type IoredisCluster, type IoredisNode } from './cluster.js'
import { ignore, isReplyError } from './sender.js'
import { PrimaryIdentity } from '../primary-identity.js'
import type { PrimaryListener } from '../redis-port.js'

const LOOK_AGAIN_MS = 250

/** Notices that slots have another primary than before: one that took them over, or one that came back as another. */
export class ClusterPrimaries {
  private owners: (string | undefined)[]
  private again: { cancel(): void } | null = null
  private closed = false
  private readonly identities = new Map<string, PrimaryIdentity>()

  constructor(
    private readonly cluster: IoredisCluster,
    private readonly slotOf: (key: string) => number,
    private readonly tell: PrimaryListener,
  ) {
    this.owners = this.seen()
    cluster.on('refresh', this.compare)
  }

  /** A connection to it is there, perhaps again. */
  ask(node: IoredisNode): void {
    const key = nodeKey(node)
    const identity = this.identities.get(key) ?? new PrimaryIdentity(isReplyError)
    this.identities.set(key, identity)
    const isThere = (lockKey: string): boolean => this.owners[this.slotOf(lockKey)] === key
    this.tell(identity.verdict((section) => node.info(section), isThere))
  }

  /**
   * A connection broke, or nobody answered. ioredis reads the slots anew only when a command of its own is refused:
   * who merely holds or waits would not hear of a fail-over.
   */
  lookAround(): void {
    if (this.cluster.status === 'ready') {
      this.cluster.refreshSlotsCache()
    }
    if (!this.closed) {
      this.again ??= backgroundClock.setTimer(LOOK_AGAIN_MS, () => {
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
    this.cluster.off('refresh', this.compare)
  }

  private readonly compare = (): void => {
    const before = this.owners
    const now = this.seen()
    this.owners = now
    const isMoved = (owner: string | undefined, slot: number): boolean =>
      owner !== undefined && owner !== now[slot]
    const moved = new Set(before.flatMap((owner, slot) => (isMoved(owner, slot) ? [slot] : [])))
    if (moved.size > 0) {
      this.tell((key) => moved.has(this.slotOf(key)))
    }
  }

  private isSomeoneAway(): boolean {
    const masters = this.cluster.nodes('master')
    // ioredis connects to a node when it needs it, and lists what it has not connected to as if it were there.
    for (const node of masters.filter(({ status }) => status === 'wait')) {
      node.connect().catch(ignore)
    }
    const present = new Set(masters.filter(({ status }) => status === 'ready').map(nodeKey))
    return this.owners.some((owner) => owner !== undefined && !present.has(owner))
  }

  private seen(): (string | undefined)[] {
    return Array.from(this.cluster.slots, (nodes) => nodes?.[0])
  }
}
