import type { Runtime } from '../../runtime/runtime.js'
import { nodeKey, type IoredisCluster, type IoredisNode } from './cluster.js'
import { ignore, isReplyError } from './sender.js'
import { PrimaryIdentity } from '../primary-identity.js'
import type { PrimaryListener } from '../redis-port.js'

const LOOK_AGAIN_MS = 250

/** Detects that slots have a new primary: another node, or the same node after a restart. */
export class ClusterPrimaries {
  private owners: (string | undefined)[]
  private again: { cancel(): void } | null = null
  private closed = false
  private readonly identities = new Map<string, PrimaryIdentity>()

  constructor(
    private readonly runtime: Runtime,
    private readonly cluster: IoredisCluster,
    private readonly slotOf: (key: string) => number,
    private readonly tell: PrimaryListener,
  ) {
    this.owners = this.seen()
    cluster.on('refresh', this.compare)
  }

  /** A connection to the node is ready, for the first time or again. */
  ask(node: IoredisNode): void {
    const key = nodeKey(node)
    const identity = this.identities.get(key) ?? new PrimaryIdentity(isReplyError)
    this.identities.set(key, identity)
    const isThere = (lockKey: string): boolean => this.owners[this.slotOf(lockKey)] === key
    this.tell(identity.verdict((section) => node.info(section), isThere))
  }

  /**
   * A connection broke, or a command got no reply. ioredis reloads the slots only when one of its own commands is
   * redirected: a client that merely holds or waits would not notice a fail-over.
   */
  lookAround(): void {
    if (this.cluster.status === 'ready') {
      this.cluster.refreshSlotsCache()
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
    // ioredis connects to nodes lazily, and lists unconnected ones as if they were up.
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
