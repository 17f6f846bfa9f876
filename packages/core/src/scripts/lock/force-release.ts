import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../define-script.js'
import type { Announcement } from './release.js'

export const forceReleaseScript = defineScript('lock/force-release')

export interface ForceReleaseCommand {
  readonly lockName: string
  readonly key: string
  readonly channel: string
  readonly publish: Announcement
  readonly inboxPrefix: string
}

export type ForceReleaseReply =
  { readonly kind: 'released'; readonly owners: number } | { readonly kind: 'not-held' }

export function forceRelease(runner: ScriptRunner, command: ForceReleaseCommand): Promise<ForceReleaseReply> {
  const { lockName, key, channel, publish, inboxPrefix } = command
  return runner.run({
    script: forceReleaseScript,
    keys: [key],
    args: [channel, publish, inboxPrefix],
    parse: parseForced,
    lockName,
  })
}

export function parseForced(reply: unknown): ForceReleaseReply {
  const owners = Number(reply)
  return owners > 0 ? { kind: 'released', owners } : { kind: 'not-held' }
}
