import { Context, type CallSite } from '../context.js'
import type { Session } from '../client/session.js'

/** The companions of one context, by client. */
interface LinkedContexts {
  readonly home: Session
  readonly bySession: Map<Session, Context>
}

const linkedContextsOf = new WeakMap<Context, LinkedContexts>()

/**
 * A place in another client for what a context of the client `home` takes there. A context belongs to one client; a
 * lock of several clients is re-entered by those of the client that it was made with, so each of them has one
 * companion in each other client. It ends with the context that it stands for.
 */
export function linkedPlace(session: Session, home: Session, leader: Context): CallSite {
  const context = linkedContextOf(session, home, leader)
  const here = session.contexts.current
  return here?.context === context ? here : { context, frame: null }
}

/** Whether a context stands for the one with this id in the client `home`. */
export function standsFor(companion: Context | null, home: Session, threadId: number): boolean {
  const leader = companion?.leader
  return leader?.id === threadId && linkedContextsOf.get(leader)?.home === home
}

function linkedContextOf(session: Session, home: Session, leader: Context): Context {
  const { bySession } = linkedContextsOf.get(leader) ?? { bySession: new Map<Session, Context>() }
  linkedContextsOf.set(leader, { home, bySession })
  const known = bySession.get(session)
  if (known) {
    return known
  }
  const made = new Context(session.nextThreadId(), placeAround(session, home, leader), leader)
  bySession.set(session, made)
  return made
}

/** What encloses a companion: a wait without a limit for what is held there would never end. */
function placeAround(session: Session, home: Session, leader: Context): CallSite | null {
  const here = session.contexts.current
  if (here?.context.alive === true) {
    return here
  }
  return leader.forkedFrom && linkedPlace(session, home, leader.forkedFrom.context)
}
