import { noteKey, strangersTimeouts } from '../../keys.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { count } from '../../redis/shapes.js'
import { parseForced, type ForceReleaseReply } from '../lock/force-release.js'
import type { ReadWriteKeys } from './keys.js'

export const forceReleaseScript = defineScript('read-lock/force-release', count)

export interface ReadWriteForceReleaseCommand {
  readonly keys: ReadWriteKeys
  readonly mode: 'read' | 'write'
  readonly inboxPrefix: string
}

export function forceRelease(
  runner: ScriptRunner,
  command: ReadWriteForceReleaseCommand,
): Promise<ForceReleaseReply> {
  const { keys, mode, inboxPrefix } = command
  const { lockName, lock, channel } = keys
  const timeouts = strangersTimeouts(lock)
  const args = [channel, runner.announcementOn(channel), inboxPrefix, mode, timeouts.behind]
  return runner.run({
    script: forceReleaseScript,
    keys: [lock, timeouts.before, noteKey(lock)],
    args,
    parse: parseForced,
    lockName,
  })
}
