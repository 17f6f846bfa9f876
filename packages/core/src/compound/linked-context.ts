import { Context, type CallSite } from '../context/context.js'
import type { LockServices } from '../locks/services.js'

/** The linked contexts of one context, by client. */
interface LinkedContexts {
  readonly home: LockServices
  readonly bySession: Map<LockServices, Context>
}

const linkedContextsOf = new WeakMap<Context, LinkedContexts>()

/**
 * The call site in another client for the acquisitions of a context of the client `home`. A context belongs to one
 * client, but a lock of several clients is re-entered through the contexts of the client that made it: so each
 * context has one linked context in each other client, which ends with it.
 */
export function linkedSite(session: LockServices, home: LockServices, leader: Context): CallSite {
  const context = linkedContextOf(session, home, leader)
  const here = session.contexts.current
  return here?.context === context ? here : { context, frame: null }
}

/** Whether a context is linked to the one with this id in the client `home`. */
export function standsFor(companion: Context | null, home: LockServices, threadId: number): boolean {
  const leader = companion?.leader
  return leader?.id === threadId && linkedContextsOf.get(leader)?.home === home
}

function linkedContextOf(session: LockServices, home: LockServices, leader: Context): Context {
  const { bySession } = linkedContextsOf.get(leader) ?? { bySession: new Map<LockServices, Context>() }
  linkedContextsOf.set(leader, { home, bySession })
  const known = bySession.get(session)
  if (known) {
    return known
  }
  const made = new Context(session.nextThreadId(), siteAround(session, home, leader), leader)
  bySession.set(session, made)
  home.contextEnds.link(leader, () => session.contextEnds.ended(made))
  return made
}

/** The call site around a linked context: an unlimited wait for a lock that is held there would never end. */
function siteAround(session: LockServices, home: LockServices, leader: Context): CallSite | null {
  const here = session.contexts.current
  if (here?.context.alive === true) {
    return here
  }
  return leader.forkedFrom && linkedSite(session, home, leader.forkedFrom.context)
}
