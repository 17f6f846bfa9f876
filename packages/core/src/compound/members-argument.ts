import { ruleFor } from '../arguments/another-copy.js'
import type { CallSite } from '../context/context.js'
import { InvalidArgumentError } from '../errors.js'
import { Lock } from '../locks/lock.js'
import type { LockServices } from '../locks/services.js'
import { Member } from './member.js'

/** The members of a compound lock, and the thread it is bound to. */
export interface Members {
  readonly members: readonly Member[]
  readonly thread: CallSite | null
}

/** @param thread of the client that makes the lock; its own members may name one, too @throws InvalidArgumentError */
export function membersOf(locks: readonly unknown[], home: LockServices, thread: CallSite | null): Members {
  if (locks.length === 0) {
    throw new InvalidArgumentError('locks', locks, 'at least one lock, as from getLock()')
  }
  if (!locks.every((each): each is Lock => each instanceof Lock)) {
    const wrong = locks.find((each) => !(each instanceof Lock))
    const rule = 'made by getLock() or its like, each of them'
    throw new InvalidArgumentError('locks', wrong, ruleFor(wrong, ['session', 'protocol'], rule))
  }
  refuseTwice(locks)
  const threads = new Map<LockServices, CallSite | null>(thread ? [[home, thread]] : [])
  for (const lock of locks) {
    const known = threads.get(lock.session)
    if (known && lock.thread && known.context !== lock.thread.context) {
      throw new InvalidArgumentError(
        'locks',
        lock.name,
        'locks of one thread: make all of them by getLock() of one locks.thread(), or none',
      )
    }
    threads.set(lock.session, known ?? lock.thread)
  }
  return { members: locks.map((lock) => new Member(lock, home)), thread: threads.get(home) ?? null }
}

/**
 * Requires one lock per node, each of a client of its own, because a node is a Redis.
 * @throws InvalidArgumentError
 */
export function refuseSharedNodes(members: readonly Member[]): void {
  const sessions = new Set(members.map(({ session }) => session))
  if (sessions.size < members.length) {
    const names = members.map(({ lockName }) => lockName).join(', ')
    throw new InvalidArgumentError('locks', names, 'locks of one client each, on independent Redis servers')
  }
}

/** Outside contexts each member has an owner of its own: the second would wait for the first. */
function refuseTwice(locks: readonly Lock[]): void {
  const keys = new Map<LockServices, Set<string>>()
  for (const { session, protocol, name } of locks) {
    const known = keys.get(session) ?? new Set()
    if (known.has(protocol.key)) {
      throw new InvalidArgumentError('locks', name, 'locks of different names')
    }
    keys.set(session, known.add(protocol.key))
  }
}
