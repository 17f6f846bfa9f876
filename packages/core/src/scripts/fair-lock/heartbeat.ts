import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../define-script.js'
import { isJava } from './acquire.js'
import { callUpArguments, markOf, type FairLine, type SignOfLife } from './line.js'

export const heartbeatScript = defineScript('fair-lock/heartbeat')

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
  /** Since when this client has lived without a gap: in one, others may have taken its waiters out of the line. */
  readonly aliveSince: string
  /** Until when this client counts as alive, ms of Redis. */
  readonly aliveUntil: number
}

export function heartbeat(runner: ScriptRunner, command: HeartbeatCommand): Promise<HeartbeatReply> {
  const { line, alive } = command
  const args = [
    alive.clientId,
    `${alive.aliveForMs}`,
    line.patience,
    ...callUpArguments(runner, line),
    markOf(alive),
  ]
  return runner.run({ script: heartbeatScript, keys: line.keys, args, parse, lockName: line.lockName })
}

function parse(reply: unknown): HeartbeatReply {
  const [ttlMs, holder, holds, first, firstAliveForMs, javaWaiters, aliveSince, aliveUntil] = reply as [
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
    aliveSince: String(aliveSince),
    aliveUntil: Number(aliveUntil),
  }
}
