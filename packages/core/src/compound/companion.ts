import { Context, type Place } from '../context.js'
import type { Session } from '../client/session.js'

/** The companions of one context, by client. */
interface Companions {
  readonly home: Session
  readonly bySession: Map<Session, Context>
}

const companionsOf = new WeakMap<Context, Companions>()

/**
 * A place in another client for what a context of the client `home` takes there. A context belongs to one client; a
 * lock of several clients is re-entered by those of the client that it was made with, so each of them has one
 * companion in each other client. It ends with the context that it stands for.
 */
export function companionPlace(session: Session, home: Session, leader: Context): Place {
  const context = companionOf(session, home, leader)
  const here = session.contexts.current
  return here?.context === context ? here : { context, frame: null }
}

/** Whether a context stands for the one with this id in the client `home`. */
export function standsFor(companion: Context | null, home: Session, threadId: number): boolean {
  const leader = companion?.leader
  return leader?.id === threadId && companionsOf.get(leader)?.home === home
}

function companionOf(session: Session, home: Session, leader: Context): Context {
  const { bySession } = companionsOf.get(leader) ?? { bySession: new Map<Session, Context>() }
  companionsOf.set(leader, { home, bySession })
  const known = bySession.get(session)
  if (known) {
    return known
  }
  const made = new Context(session.nextThreadId(), placeAround(session, home, leader), leader)
  bySession.set(session, made)
  return made
}

/** What encloses a companion: a wait without a limit for what is held there would never end. */
function placeAround(session: Session, home: Session, leader: Context): Place | null {
  const here = session.contexts.current
  if (here?.context.alive === true) {
    return here
  }
  return leader.forkedFrom && companionPlace(session, home, leader.forkedFrom.context)
}
