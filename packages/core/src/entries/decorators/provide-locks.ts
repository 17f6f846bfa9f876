import { InvalidArgumentError, type LockClient } from '../../index.js'
import { oncePerProcess, checkClient, checkObject } from '../door.js'

interface Provided {
  /** For the methods of an object or a class; the latest client comes first. */
  readonly ofTarget: WeakMap<object, LockClient[]>
  /** For all other methods. */
  readonly ofAll: LockClient[]
}

const provided = oncePerProcess<Provided>('provided-locks', () => ({ ofTarget: new WeakMap(), ofAll: [] }))

/**
 * Sets the client of decorated methods without a `client` option of their own: for the methods of one object, of one
 * class with its subclasses and their objects, or of all. The most specific wins; of several for the same target, the
 * one whose context the caller is in, else the latest.
 * @param target the object or class; default: all
 * @returns a function that removes the client again
 * @throws InvalidArgumentError
 */
export function provideLocks(client: LockClient, target?: object): () => void {
  checkClient('client', client)
  if (target !== undefined && typeof target !== 'function') {
    checkObject('target', target)
  }
  const clients = target ? (provided.ofTarget.get(target) ?? []) : provided.ofAll
  if (target) {
    provided.ofTarget.set(target, clients)
  }
  clients.unshift(client)
  let taken = false
  return () => {
    if (!taken) {
      taken = true
      clients.splice(clients.indexOf(client), 1)
    }
  }
}

/** @throws InvalidArgumentError no client was provided */
export function locksFor(self: unknown): LockClient {
  const client = ofTarget(self) ?? chosen(provided.ofAll)
  if (!client) {
    throw new InvalidArgumentError('client', undefined, 'given, or provided by provideLocks(client)')
  }
  return client
}

/** For an object, then for its class and superclasses. */
function ofTarget(self: unknown): LockClient | undefined {
  if (self == null) {
    return undefined
  }
  const own = chosen(provided.ofTarget.get(self))
  for (let at: unknown = typeof self === 'function' ? self : self.constructor, found = own; ;) {
    if (found || typeof at !== 'function') {
      return found
    }
    found = chosen(provided.ofTarget.get(at))
    at = Object.getPrototypeOf(at)
  }
}

/** Several applications in one process, as in tests, each have their own. */
function chosen(clients: readonly LockClient[] = []): LockClient | undefined {
  return clients.find(({ currentThreadId }) => currentThreadId !== undefined) ?? clients[0]
}
