import type { LockHolder } from '@holdfast/core'
import type { SeenLock } from '@holdfast/core/observe'
import { spoken } from '../duration.js'
import { printable, type Output } from '../terminal.js'

/** Which library a lock is of, as far as Redis shows. */
export type Origin = 'holdfast' | 'redisson' | 'string'

/** A holder as `--json` gives it. Durations in milliseconds. */
export interface ShownHolder {
  /** For `break --holder`. */
  readonly holder: string
  readonly client: string | null
  readonly count: number
  /** Null: its client keeps no note of it (option `describeHolds`). */
  readonly heldMs: number | null
  readonly traceparent: string | null
  readonly handedOver: boolean
  /** Its client keeps released locks for a moment: it holds the lock, or has it idle. Absent: it holds it. */
  readonly mayBeIdle?: true
  /** The text of another library's string. */
  readonly isString: boolean
}

/** A lock as `--json` gives it. */
export interface ShownLock {
  readonly name: string
  /** `lock`: plain, fenced, spin, or fair without waiters: they look alike. */
  readonly kind: 'lock' | 'fair' | 'read-write' | 'string'
  readonly mode: 'read' | 'write' | null
  readonly origin: Origin
  readonly holders: readonly ShownHolder[]
  /** Null: no time to live. */
  readonly leaseLeftMs: number | null
  readonly token: string | null
  readonly waiting: number
  readonly waiters: readonly {
    readonly owner: string
    readonly client: string | null
    readonly waitedMs: number | null
  }[]
  /** How often `top` or `watch` saw another holder while the first of them stood first. */
  readonly overtaken: number
}

// Redisson's client ids are UUIDs.
const REDISSON = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}:\d+(:write)?$/

export function shownLock(lock: SeenLock): ShownLock {
  const { name, mode = null, holders, leaseLeftMs, token = null, waiting, waiters, overtaken } = lock
  const origin = originOf(holders)
  return {
    ...{ name, mode, origin, token, waiting, overtaken },
    kind: origin === 'string' ? 'string' : (kindOf(lock) ?? 'lock'),
    holders: holders.map(shownHolder),
    leaseLeftMs: leaseLeftMs < 0 ? null : leaseLeftMs,
    waiters: waiters.map(({ owner, clientName = null, waitedMs = null }) => ({
      ...{ owner, client: clientName, waitedMs },
    })),
  }
}

function kindOf({ kind }: SeenLock): 'fair' | 'read-write' | undefined {
  return kind === 'read-write' ? kind : kind?.endsWith('fair') === true ? 'fair' : undefined
}

function originOf(holders: readonly LockHolder[]): Origin {
  if (holders.some(({ foreign }) => foreign)) {
    return 'string'
  }
  return holders.some(({ owner }) => REDISSON.test(owner)) ? 'redisson' : 'holdfast'
}

function shownHolder(holder: LockHolder): ShownHolder {
  const { owner, clientName = null, holds, heldForMs = null, traceparent = null, handedOver = false } = holder
  const isString = holder.foreign === true
  return {
    holder: owner,
    client: clientName,
    count: holds,
    heldMs: heldForMs,
    traceparent,
    handedOver,
    isString,
    ...(holder.mayBeIdle && { mayBeIdle: true as const }),
  }
}

/** The holder in few words. */
export function holderText({ holder, client, handedOver, isString, mayBeIdle }: ShownHolder): string {
  if (handedOver) {
    return 'handed over, not adopted yet'
  }
  if (isString) {
    return `string ${JSON.stringify(printable(holder))}`
  }
  return mayBeIdle ? `held or idle at ${printable(client ?? holder)}` : printable(client ?? holder)
}

const MARKS: Readonly<Record<Origin, string>> = {
  holdfast: '',
  redisson: 'Redisson',
  string: 'another library',
}

/** The same in a sentence. */
export function holderInText(holder: ShownHolder): string {
  return holder.isString ? `a ${holderText(holder)}` : holderText(holder)
}

export function kindText({ kind, mode, origin }: ShownLock): string {
  const text = kind === 'read-write' ? `${mode ?? ''} lock` : kind === 'fair' ? 'fair lock' : 'lock'
  return MARKS[origin] === '' ? text : `${text} (${MARKS[origin]})`
}

export function sinceText(holders: readonly ShownHolder[]): string {
  const known = holders.flatMap(({ heldMs }) => heldMs ?? [])
  return known.length === 0 ? '?' : spoken(Math.max(...known))
}

export function leaseText(leaseLeftMs: number | null): string {
  return leaseLeftMs === null ? 'no end' : spoken(leaseLeftMs)
}

/** Quoted for a shell, whatever it holds: a holder is anybody's text, and this line is meant to be copied. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** All that is known of one lock, for people. */
export function linesOf(lock: ShownLock, styled: Output['style'] = (_, text) => text): string[] {
  const { name, holders, origin, leaseLeftMs, token, waiters, waiting } = lock
  // Any string of that name: whether it is a lock is not known.
  const kind = origin === 'string' ? 'string' : kindText(lock)
  const lines = [
    `${styled('bold', printable(name))}  ${kind}, lease left ${leaseText(leaseLeftMs)}${token === null ? '' : `, token ${printable(token)}`}`,
  ]
  for (const each of holders) {
    const { holder, count, heldMs } = each
    const since = heldMs === null ? '' : `, for ${spoken(heldMs)}`
    const times = count > 1 ? `, ${count} times` : ''
    lines.push(`  held by ${styled('yellow', holderInText(each))}${since}${times}`)
    if (!each.isString) {
      lines.push(styled('dim', `    --holder ${quoted(printable(holder))}`))
    }
  }
  waiters.forEach(({ owner, client, waitedMs }, i) => {
    const wait = waitedMs === null ? '' : `, for ${spoken(waitedMs)}`
    lines.push(`  ${i + 1}. ${styled('cyan', printable(client ?? owner))} waits${wait}`)
  })
  if (waiting > waiters.length) {
    lines.push(`  and ${waiting - waiters.length} more wait`)
  }
  return lines
}

/** A table of locks, a row each, no wider than the terminal. */
export function tableOf(locks: readonly ShownLock[], output: Output, columns = output.columns): string[] {
  const head = ['NAME', 'KIND', 'HOLDER', 'HELD', 'LEASE', 'WAIT']
  const rows = locks.map((lock) => {
    const [first, ...others] = lock.holders
    const holder = first ? holderText(first) : ''
    return [
      printable(lock.name),
      kindText(lock),
      others.length > 0 ? `${holder} and ${others.length} more` : holder,
      sinceText(lock.holders),
      leaseText(lock.leaseLeftMs),
      `${lock.waiting}`,
    ]
  })
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)))
  fit(widths, columns - 2 * (head.length - 1))
  const draw = (row: readonly string[]): string =>
    row
      .map((cell, i) => cut(cell, widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  return [output.style('dim', draw(head)), ...rows.map(draw)]
}

const NARROWEST = 12

/** Names and holders give way: the widest first. */
function fit(widths: number[], total: number): void {
  let over = widths.reduce((sum, width) => sum + width, 0) - total
  while (over > 0) {
    const [name = 0, , holder = 0] = widths
    const widest = name >= holder ? 0 : 2
    if ((widths[widest] ?? 0) <= NARROWEST) {
      return
    }
    widths[widest] = (widths[widest] ?? 0) - 1
    over -= 1
  }
}

function cut(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width)
}
