import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { facts } from '../../redis/shapes.js'
import { isJava } from './acquire.js'
import {
  callUpArguments,
  lifeIn,
  marksOf,
  type FairLine,
  type LivenessWindow,
  type SignOfLife,
} from './line.js'

export const heartbeatScript = defineScript('fair-lock/heartbeat', facts(9))

export interface HeartbeatCommand {
  readonly line: FairLine
  readonly alive: SignOfLife
}

export interface HeartbeatReply {
  /** -2: nobody has the lock. */
  readonly ttlMs: number
  /** '' when nobody has it. */
  readonly holder: string
  readonly holds: number
  /** Owner of the first in line; '' when nobody waits. */
  readonly first: string
  /** How long the first counts as alive, ms. */
  readonly firstAliveForMs: number
  readonly javaIsThere: boolean
  readonly life: LivenessWindow
}

export function heartbeat(runner: ScriptRunner, command: HeartbeatCommand): Promise<HeartbeatReply> {
  const { line, alive } = command
  const args = [
    alive.clientId,
    `${alive.aliveForMs}`,
    line.patience,
    ...callUpArguments(runner, line),
    marksOf(alive),
  ]
  return runner.run({ script: heartbeatScript, keys: line.keys, args, parse, lockName: line.lockName })
}

function parse(reply: unknown): HeartbeatReply {
  const [ttlMs, holder, holds, first, firstAliveForMs, javaWaiters, ...life] = reply as [
    unknown,
    string,
    unknown,
    string,
    ...unknown[],
  ]
  return {
    ttlMs: Number(ttlMs),
    holder,
    holds: Number(holds),
    first,
    firstAliveForMs: Number(firstAliveForMs),
    javaIsThere: Number(javaWaiters) > 0 || isJava(holder),
    life: lifeIn(life),
  }
}
