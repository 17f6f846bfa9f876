import { constants, setPriority } from 'node:os'
import { GroupWatch } from './watch-group.js'
import { jsonLines, type FromGuardian, type ToGuardian } from './messages.js'

/** The machine's highest priority: all that it does is to be in time. Not every user may have it. */
function goFirst(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST)
  } catch {
    // It goes on as any other.
  }
}

/** Signals that ask the command line to end, at a terminal or at the end of a session, must not end the guardian before it. */
const NOT_MEANT_FOR_IT = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGPIPE'] as const

/**
 * Runs the guardian of `holdfast run`, which is a process of its own: it reads what it is to guard from stdin, and
 * ends when that group is gone. Returns at once.
 */
export function guard(): void {
  for (const signal of NOT_MEANT_FOR_IT) {
    process.on(signal, () => undefined)
  }
  goFirst()
  const { stdin, stdout } = process
  // Nobody reads any more: it goes on.
  stdout.on('error', () => undefined)
  const tell = (message: FromGuardian): void => void stdout.write(`${JSON.stringify(message)}\n`)
  const watch = new GroupWatch(tell, () => process.exit(0))
  const read = jsonLines((message) => watch.take(message as ToGuardian))
  stdin.setEncoding('utf8')
  stdin.on('data', read)
  stdin.on('error', () => watch.aloneFromNow())
  stdin.on('end', () => watch.aloneFromNow())
}
