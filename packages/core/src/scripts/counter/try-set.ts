import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce } from '../../redis/shapes.js'
import { keysOf, stampOf, type AnnouncedCommand } from './operation.js'

export const trySetScript = defineScript('counter/try-set', countedOnce)

export interface TrySetCommand extends AnnouncedCommand {
  readonly value: number
  /** undefined: no end. */
  readonly ttlMs: number | undefined
  readonly message: string
}

/** False: there was a counter already. */
export function trySet(runner: ScriptRunner, command: TrySetCommand): Promise<boolean> {
  const { lockName, value, ttlMs = 0, channel, message } = command
  const args = [...stampOf(command), `${value}`, `${ttlMs}`, channel, runner.announcementOn(channel), message]
  return runner.run({ script: trySetScript, keys: keysOf(command), args, parse, lockName })
}

function parse(reply: unknown): boolean {
  return Number(reply) === 1
}
