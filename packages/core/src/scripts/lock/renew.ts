import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript, type Script } from '../../redis/script.js'
import { numberFrom, numbers } from '../../redis/shapes.js'

export const renewScript = defineScript('lock/renew', numbers(0, numberFrom(1)))

export interface RenewCommand {
  /** All in one cluster slot. */
  readonly locks: readonly { readonly key: string; readonly owner: string }[]
  readonly leaseMs: number
  readonly timeoutMs?: number
}

export type RenewReply = readonly ('renewed' | 'lost')[]

export function renew(runner: ScriptRunner, command: RenewCommand): Promise<RenewReply> {
  return renewBy(renewScript, runner, command)
}

/** @param more KEYS after those of the locks */
export function renewBy(
  script: Script,
  runner: ScriptRunner,
  { locks, leaseMs, timeoutMs }: RenewCommand,
  more: readonly string[] = [],
): Promise<RenewReply> {
  const keys = [...locks.map((each) => each.key), ...more]
  const args = [`${leaseMs}`, ...locks.map((each) => each.owner)]
  return runner.run({ script, keys, args, parse: answersFor(locks), granted, timeoutMs })
}

/** One for each lock, from the places of those that are lost. */
function answersFor(locks: RenewCommand['locks']): (reply: unknown) => RenewReply {
  return (reply) => {
    const answers = locks.map((): RenewReply[number] => 'renewed')
    for (const place of reply as unknown[]) {
      answers[Number(place) - 1] = 'lost'
    }
    return answers
  }
}

/** See `ScriptCall.granted`. */
function granted(answers: RenewReply): RenewReply | undefined {
  return answers.includes('renewed') ? answers : undefined
}
