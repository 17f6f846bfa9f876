import { INBOX_PREFIX, latchPrefix, unlockChannel } from '../keys.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { acquire, type AcquireReply } from '../scripts/lock/acquire.js'
import { forceRelease } from '../scripts/lock/force-release.js'
import { inspect, type LockState } from '../scripts/lock/inspect.js'
import { release, type ReleaseReply } from '../scripts/lock/release.js'
import { renew } from '../scripts/lock/renew.js'
import type { HoldChange, LockProtocol } from './lock-protocol.js'

/** Redisson's RLock: one hash, `owner -> holds`, and a message on the unlock channel. */
export class ReentrantProtocol implements LockProtocol {
  readonly key: string
  readonly channel: string
  private readonly latchPrefix: string

  constructor(
    private readonly runner: ScriptRunner,
    readonly lockName: string,
    keyPrefix: string,
  ) {
    this.key = keyPrefix + lockName
    this.channel = unlockChannel(this.key)
    this.latchPrefix = latchPrefix(this.key)
  }

  acquire(change: HoldChange, leaseMs: number): Promise<AcquireReply> {
    const { lockName, key } = this
    const { owner, holds, stamp } = change
    return acquire(this.runner, {
      lockName,
      key,
      latchKey: this.latchPrefix + owner,
      owner,
      holds,
      leaseMs,
      stamp,
    })
  }

  release(change: HoldChange): Promise<ReleaseReply> {
    const { lockName, key, channel } = this
    const { owner, holds, stamp } = change
    const latchKey = this.latchPrefix + owner
    return release(this.runner, { lockName, key, latchKey, channel, publish: 'PUBLISH', owner, holds, stamp })
  }

  async extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'> {
    const [answer] = await renew(this.runner, { locks: [{ key: this.key, owner }], leaseMs })
    return answer ?? 'lost'
  }

  async forceRelease(): Promise<boolean> {
    const { lockName, key, channel } = this
    const command = { lockName, key, channel, publish: 'PUBLISH', inboxPrefix: INBOX_PREFIX } as const
    return (await forceRelease(this.runner, command)).kind === 'released'
  }

  inspect(timeoutMs?: number): Promise<LockState> {
    const { lockName, key } = this
    return inspect(this.runner, timeoutMs === undefined ? { lockName, key } : { lockName, key, timeoutMs })
  }
}
