import { createInterface } from 'node:readline/promises'
import { HolderChangedError, type LockClient } from '@holdfast/core'
import type { SeenLock } from '@holdfast/core/observe'
import { EXIT } from '../exit-code.js'
import { EndedBySignal, unlessAborted } from '../interrupt.js'
import { printable, type Output } from '../terminal.js'
import { LockFinder } from './finder.js'
import { holderInText, linesOf, shownLock, tableOf, type ShownLock } from './shown-lock.js'

export interface Looking {
  readonly locks: LockClient
  readonly output: Output
  readonly signal: AbortSignal
}

/** `ls`: the held locks, by name. */
export async function list(
  { locks, output, signal }: Looking,
  { pattern, limit }: { pattern: string; limit: number },
): Promise<number> {
  const { locks: seen, complete } = await new LockFinder(locks).all({ pattern, limit, signal })
  const shown = seen.map(shownLock).sort((a, b) => (a.name < b.name ? -1 : 1))
  if (output.json) {
    output.value({ locks: shown, complete })
    return EXIT.done
  }
  if (shown.length > 0) {
    tableOf(shown, output).forEach((line) => output.line(line))
  }
  if (!complete) {
    output.note(`more locks are held: only ${limit} are shown (--limit)`, {})
  }
  return EXIT.done
}

/** `who`: one lock, its holders and waiters. */
export async function who({ locks, output }: Looking, name: string): Promise<number> {
  const seen = await new LockFinder(locks).one(name)
  if (output.json) {
    output.value(seen ? shownLock(seen) : null)
  } else if (seen) {
    linesOf(shownLock(seen), (style, text) => output.style(style, text)).forEach((line) => output.line(line))
  } else {
    output.line(`${printable(name)} is free`)
  }
  return seen ? EXIT.done : EXIT.no
}

/** Stands for the text of an empty string where a holder must be named. */
const NO_TEXT = '""'

export interface BreakOptions {
  readonly name: string
  /** Undefined: the one that is found, after a question. */
  readonly holder: string | undefined
  readonly yes: boolean
}

/** `break`: takes the lock from one holder, and from nobody else. */
export async function breakLock(
  looking: Looking,
  { name, holder: given, yes }: BreakOptions,
): Promise<number> {
  const { locks, output } = looking
  const seen = await new LockFinder(locks).one(name)
  if (!seen) {
    return answer(output, { name, outcome: 'free' }, `${printable(name)} is free`, EXIT.no)
  }
  const lock = shownLock(seen)
  if (lock.origin === 'string') {
    // Refused, whoever was named and whatever would be answered.
    return release(looking, seen, lock.holders[0]?.holder || NO_TEXT)
  }
  const holder = given === undefined ? onlyHolderOf(lock) : namedHolderOf(lock, given)
  if (holder === undefined) {
    if (output.json) {
      output.note('', { event: 'holders', lock })
    } else {
      linesOf(lock).forEach((line) => output.note(line, {}))
    }
    return answer(
      output,
      { name, outcome: 'usage' },
      'it has several holders: name one with --holder',
      EXIT.usage,
    )
  }
  const found = lock.holders.find((each) => each.holder === holder)
  if (!found) {
    return conflict(output, lock, holder)
  }
  const said = `${printable(name)}, held by ${holderInText(found)}`
  if (!yes && !(await isConfirmed(looking, said))) {
    return answer(output, { name, holder, outcome: 'declined' }, 'nothing was released', EXIT.declined)
  }
  return release(looking, seen, holder)
}

async function release({ locks, output }: Looking, lock: SeenLock, holder: string): Promise<number> {
  const { name } = lock
  const both = locks.getReadWriteLock(name)
  const target =
    lock.mode === 'read'
      ? both.readLock()
      : lock.mode === 'write'
        ? both.writeLock()
        : lock.kind === 'fair'
          ? locks.getFairLock(name)
          : locks.getLock(name)
  try {
    const isReleased = await target.forceUnlock({ holder })
    return isReleased
      ? answer(
          output,
          { name, holder, outcome: 'released' },
          `${printable(name)} was released, and its holder told`,
          EXIT.done,
        )
      : answer(output, { name, holder, outcome: 'free' }, `${printable(name)} is free by now`, EXIT.no)
  } catch (error) {
    if (!(error instanceof HolderChangedError)) {
      throw error
    }
    return answer(output, { name, holder, outcome: 'another-holder' }, error.message, EXIT.conflict)
  }
}

function conflict(output: Output, lock: ShownLock, holder: string): number {
  const now = lock.holders.map(holderInText).join(', ')
  const text = `${printable(lock.name)} is not held by ${printable(holder)}, but by ${now}; nothing was released`
  return answer(output, { name: lock.name, holder, outcome: 'another-holder' }, text, EXIT.conflict)
}

function onlyHolderOf({ holders }: ShownLock): string | undefined {
  return holders.length === 1 ? holders[0]?.holder : undefined
}

/** Also a holder that was copied from a terminal, where some of its characters cannot be shown. */
function namedHolderOf({ holders }: ShownLock, given: string): string {
  const alike = holders.filter(({ holder }) => printable(holder) === given)
  return holders.some(({ holder }) => holder === given) || alike.length !== 1
    ? given
    : (alike[0]?.holder ?? given)
}

function answer(
  output: Output,
  value: Readonly<Record<string, unknown>>,
  text: string,
  code: number,
): number {
  if (output.json) {
    output.value(value)
  } else {
    output.line(printable(text))
  }
  return code
}

/**
 * Asks whoever sits there. Nobody does, or Ctrl-D: no.
 * @throws EndedBySignal Ctrl-C, which no signal of the process tells while the question has the terminal
 */
async function isConfirmed({ output, signal }: Looking, what: string): Promise<boolean> {
  const { stdin, stderr } = output.terminal
  if (stdin.isTTY !== true) {
    output.note('nobody is there to ask: add --yes', { event: 'not-asked' })
    return false
  }
  const asking = createInterface({ input: stdin, output: stderr })
  const left = new AbortController()
  let interrupted: EndedBySignal | undefined
  asking.once('SIGINT', () => {
    interrupted = new EndedBySignal('SIGINT')
    left.abort()
  })
  asking.once('close', () => left.abort())
  const question = asking.question(`Release ${what}, by force? Its work may go on. [y/N] `)
  // Some versions of Node reject the question by themselves when it is left, others forget it.
  const said = await unlessAborted(AbortSignal.any([signal, left.signal]), question).catch(() => null)
  asking.close()
  if (said === null) {
    // The cursor stands behind the question.
    stderr.write('\n')
  }
  if (interrupted) {
    throw interrupted
  }
  signal.throwIfAborted()
  return said !== null && /^y(es)?$/i.test(said.trim())
}
