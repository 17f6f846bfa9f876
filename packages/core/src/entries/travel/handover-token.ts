import {
  InvalidArgumentError,
  type LockClient,
  type LockThread,
  type Lock,
  type LockKind,
} from '../../index.js'
import {
  handedOverOwner,
  FencedProtocol,
  type TokenRule,
  type LockProtocol,
  type LockServices,
  isPlainObject,
} from '../door.js'

const KINDS = ['reentrant', 'fair', 'fenced'] as const
export type TravellingKind = (typeof KINDS)[number]

/** The contents of a token. */
interface TokenContents {
  readonly v: 1
  readonly kind: TravellingKind
  /** The key in Redis begins with it. */
  readonly prefix: string
  readonly name: string
  /** 32 hexadecimal digits. */
  readonly id: string
  /** For a fenced lock: how its fencing tokens are counted. */
  readonly rule?: TokenRule
}

/** A lock on its way: the lock, and the name that stands for the token in Redis. */
export interface Traveller {
  readonly lock: Lock
  readonly owner: string
}

export function travels(kind: LockKind): kind is TravellingKind {
  return KINDS.some((each) => each === kind)
}

/** @param id 32 random hexadecimal digits */
export function tokenFor(
  kind: TravellingKind,
  {
    session,
    protocol,
  }: { readonly session: Pick<LockServices, 'keyPrefix'>; readonly protocol: LockProtocol },
  id: string,
): string {
  const { keyPrefix: prefix } = session
  const contents: TokenContents = { v: 1, kind, prefix, name: protocol.lockName, id, ...ruleOf(protocol) }
  return Buffer.from(JSON.stringify(contents)).toString('base64url')
}

/** How a lock of this kind counts its fencing tokens, if it gives any. */
export function ruleOf(protocol: LockProtocol): { rule?: TokenRule } {
  return protocol instanceof FencedProtocol ? { rule: protocol.rule } : {}
}

/** @throws InvalidArgumentError, ClientClosedError */
export function travellerOf(locks: LockClient | LockThread, token: unknown): Traveller {
  const { kind, name, prefix, id, rule = {} } = contentsOf(token)
  const lock =
    kind === 'fair'
      ? locks.getFairLock(name)
      : kind === 'fenced'
        ? locks.getFencedLock(name, rule)
        : locks.getLock(name)
  const { keyPrefix } = lock.session
  if (keyPrefix !== prefix) {
    const mine = JSON.stringify(keyPrefix)
    // Not the token itself: messages are logged.
    const value = `a token of the keyPrefix ${JSON.stringify(prefix)}`
    throw notAToken(value, `one of a client with the keyPrefix of this one, which is ${mine}`)
  }
  return { lock, owner: handedOverOwner(id) }
}

function contentsOf(token: unknown): TokenContents {
  const rule = 'the text that handOver() returned'
  if (typeof token !== 'string') {
    throw notAToken(token, rule)
  }
  let contents: unknown
  try {
    contents = JSON.parse(Buffer.from(token, 'base64url').toString())
  } catch {
    throw notAToken(token, rule)
  }
  if (!areContents(contents)) {
    throw notAToken(token, `${rule}, of a Holdfast that speaks the same version`)
  }
  return contents
}

function areContents(given: unknown): given is TokenContents {
  if (!isPlainObject(given)) {
    return false
  }
  const { v, kind, prefix, name, id } = given as Partial<Record<keyof TokenContents, unknown>>
  return (
    v === 1 &&
    travels(kind as LockKind) &&
    typeof prefix === 'string' &&
    typeof name === 'string' &&
    typeof id === 'string' &&
    /^[\da-f]{32}$/.test(id)
  )
}

function notAToken(token: unknown, rule: string): InvalidArgumentError {
  return new InvalidArgumentError('token', token, rule)
}
