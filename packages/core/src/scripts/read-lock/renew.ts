import { readTimeouts } from '../../keys.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { numberFrom, numbers } from '../../redis/shapes.js'
import { renewBy, type RenewCommand, type RenewReply } from '../lock/renew.js'

export const renewScript = defineScript('read-lock/renew', numbers(0, numberFrom(1)))

export function renew(runner: ScriptRunner, command: RenewCommand): Promise<RenewReply> {
  const timeouts = command.locks.map(({ key, owner }) => readTimeouts(key, owner))
  return renewBy(renewScript, runner, command, timeouts)
}
