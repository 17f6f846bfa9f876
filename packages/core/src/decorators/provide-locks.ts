import { InvalidArgumentError } from '../errors.js'
import type { LockClient } from '../lock-client.js'
import { oncePerProcess } from '../runtime/once-per-process.js'
import { checkClient, checkObject } from '../arguments/validate.js'

interface Provided {
  /** For methods of an object or of a class; the latest stands first. */
  readonly ofTarget: WeakMap<object, LockClient[]>
  /** For all others. */
  readonly ofAll: LockClient[]
}

const provided = oncePerProcess<Provided>('provided-locks', () => ({ ofTarget: new WeakMap(), ofAll: [] }))

/**
 * Says whose locks decorated methods take, where their own option `client` does not: for the methods of one object,
 * of one class with its subclasses and their objects, or of all. The nearest counts; of several for the same, the one
 * in whose context the caller is, else the latest.
 * @param target the object or class; left out: all
 * @returns takes it back
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

/** @throws InvalidArgumentError nobody provided one */
export function locksFor(self: unknown): LockClient {
  const client = ofTarget(self) ?? chosen(provided.ofAll)
  if (!client) {
    throw new InvalidArgumentError('client', undefined, 'given, or provided by provideLocks(client)')
  }
  return client
}

/** Of an object, then of its class and the classes above. */
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

/** Two applications in one process, as in tests, each have their own. */
function chosen(clients: readonly LockClient[] = []): LockClient | undefined {
  return clients.find(({ currentThreadId }) => currentThreadId !== undefined) ?? clients[0]
}
