import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { yesOrNo } from '../../redis/shapes.js'

export const announceScript = defineScript('lock/announce', yesOrNo)

export interface AnnounceCommand {
  readonly lockName: string
  readonly key: string
  readonly channel: string
}

export function announce(runner: ScriptRunner, { lockName, key, channel }: AnnounceCommand): Promise<void> {
  const args = [channel, runner.announcementOn(channel)]
  const parse = (): void => undefined
  return runner.run({ script: announceScript, keys: [key], args, parse, lockName })
}
