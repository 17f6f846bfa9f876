import { warn } from './events.js'
import type { Session } from './session.js'
import type { RedisPort } from './redis/redis-port.js'

/** Once per client, as soon as there is a connection; nothing waits for the answer but `close`. */
export function askForEviction(
  session: Pick<Session, 'abandoned' | 'background'> & { readonly port: RedisPort },
): void {
  const { port, abandoned } = session
  const ask = (): void => {
    const answer = port.info('memory')
    if (answer) {
      stopListening()
      // A closed client has no business to warn. A server that does not tell is not worth an error.
      const report = (info: unknown): void => (abandoned.aborted ? undefined : warnOfEviction(String(info)))
      session.background.run(answer.then(report, () => undefined))
    }
  }
  const stopListening = port.onStateChange(ask)
  ask()
}

/** @param info the section `memory` of INFO, of which a provider may leave out what it likes */
function warnOfEviction(info: string): void {
  const [, policy = 'noeviction'] = /^maxmemory_policy:([\w-]+)/m.exec(info) ?? []
  const [, limit = '0'] = /^maxmemory:(\d+)/m.exec(info) ?? []
  if (policy !== 'noeviction' && Number(limit) > 0) {
    warn(
      'HOLDFAST_EVICTION',
      `Redis may evict locks that are held: its maxmemory-policy is '${policy}' and its maxmemory ${limit} bytes. ` +
        'A lock is a key with a time to live, which this policy may delete when memory runs short; somebody ' +
        "else gets in then. Set maxmemory-policy to 'noeviction', or keep locks in a Redis of their own that has it.",
    )
  }
}
