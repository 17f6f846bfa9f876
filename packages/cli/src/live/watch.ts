import { spoken } from '../duration.js'
import { EXIT } from '../exit-code.js'
import type { Looking } from '../locks/commands.js'
import { LockFinder } from '../locks/finder.js'
import { holderInText, holderText, type ShownHolder } from '../locks/shown-lock.js'
import { printable, type Output } from '../terminal.js'
import { LockChanges, type Change } from './changes.js'
import { lookAgainAndAgain } from './looks.js'

export interface WatchOptions {
  readonly name: string
  readonly everyMs: number
  readonly forMs: number | undefined
}

/**
 * `watch`: a line for each change of one lock, until it is interrupted. It looks, instead of listening to the lock's
 * channel: a listener there changes how the lock is granted.
 */
export async function watch(
  { locks, output, signal }: Looking,
  { name, everyMs, forMs }: WatchOptions,
): Promise<number> {
  const finder = new LockFinder(locks)
  const changes = new LockChanges()
  let isFirst = true
  const look = async (): Promise<void> => {
    const seen = await finder.one(name)
    const told = changes.take(seen, performance.now())
    if (isFirst && !seen && !output.json) {
      output.line(`${timeOf(new Date())}  ${printable(name)} is free`)
    }
    isFirst = false
    told.forEach((change) => print(change, name, output))
  }
  await lookAgainAndAgain({ everyMs, forMs, signal }, look, tellTrouble(output))
  return EXIT.done
}

/** Once for each time that Redis is away, not for each look. */
function tellTrouble(output: Output): (message: string | null) => void {
  let isTold = false
  return (message) => {
    if (message === null) {
      output.note('Redis answers again', { event: 'trouble-over' })
    } else if (!isTold) {
      output.note(message, { event: 'trouble', message })
    }
    isTold = message !== null
  }
}

function print(change: Change, name: string, output: Output): void {
  const at = new Date()
  if (output.json) {
    output.value({ at: at.toISOString(), name, ...change }, 0)
  } else {
    output.line(`${output.style('dim', timeOf(at))}  ${textOf(change, output)}`)
  }
}

function textOf(change: Change, output: Output): string {
  const who = (each: ShownHolder): string => output.style('yellow', holderText(each))
  switch (change.event) {
    case 'held':
      if (change.holder.isString) {
        return `held by ${output.style('yellow', holderInText(change.holder))}`
      }
      return `${who(change.holder)} has it${tokenText(change.token)}${missedText(change.missed)}`
    case 'handed-over':
      return `${who(change.from)} → ${who(change.holder)}, after ${spoken(change.heldMs)}${tokenText(change.token)}${missedText(change.missed)}`
    case 'freed':
      return `${who(change.from)} → free, after ${spoken(change.heldMs)}${missedText(change.missed)}`
    case 'joined':
      return `${who(change.holder)} has it, too`
    case 'left':
      return `${who(change.holder)} has it no more`
    case 'waits':
      return `${output.style('cyan', printable(change.waiter))} waits`
    case 'waits-no-more':
      return `${output.style('cyan', printable(change.waiter))} waits no more`
  }
}

function tokenText(token: string | null): string {
  return token === null ? '' : `, token ${printable(token)}`
}

function missedText(missed: number): string {
  return missed === 0 ? '' : `; ${missed} more in between`
}

function timeOf(at: Date): string {
  const milliseconds = String(at.getMilliseconds()).padStart(3, '0')
  return `${at.toTimeString().slice(0, 8)}.${milliseconds}`
}
