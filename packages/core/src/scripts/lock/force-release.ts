import type { ScriptRunner } from '../../redis/script-runner.js'
import { noteKey } from '../../keys.js'
import { defineScript } from '../../redis/script.js'
import { count } from '../../redis/shapes.js'

export const forceReleaseScript = defineScript('lock/force-release', count)

export interface ForceReleaseCommand {
  readonly lockName: string
  readonly key: string
  /** Where it is announced; null: nowhere. */
  readonly channel: string | null
  readonly inboxPrefix: string
}

export type ForceReleaseReply =
  { readonly kind: 'released'; readonly owners: number } | { readonly kind: 'not-held' }

export function forceRelease(runner: ScriptRunner, command: ForceReleaseCommand): Promise<ForceReleaseReply> {
  const { lockName, key, channel, inboxPrefix } = command
  return runner.run({
    script: forceReleaseScript,
    keys: [key, noteKey(key)],
    args: [channel ?? '', channel === null ? '' : runner.announcementOn(channel), inboxPrefix],
    parse: parseForced,
    lockName,
  })
}

export function parseForced(reply: unknown): ForceReleaseReply {
  const owners = Number(reply)
  return owners > 0 ? { kind: 'released', owners } : { kind: 'not-held' }
}
