// Mistakes in what a client believes about its own locks, and in what it does about an answer that does not come.
import { BROKEN, CROWD, CUT_OFF, FULL, SILENT, STOPPED } from '../tortures.mjs'

const COMMANDS = 'core/src/entry/owner-commands.ts'
const ACQUISITION = 'core/src/acquire/acquisition.ts'
const DISPATCH = 'core/src/redis/script-dispatch.ts'
const ROUND = 'watchdog/src/renewal-round.ts'

export const BUGS_IN_HOLDING = {
  'all callers of a process are one owner': {
    file: 'core/src/client/open-session.ts',
    find: '(threads += 1)',
    replace: '(threads = 1)',
    torture: CROWD,
  },
  'the result of withLock waits for its release': {
    file: 'core/src/locks/while-held.ts',
    find: 'released = await session.releaseWaits.outcomeOf(hold.release())',
    replace: 'released = await hold.release()',
    test: 'packages/core/test/redis/release-waits.test.ts',
    only: 'the result comes while it is down',
  },
  'a release that close cut off is told to nobody': {
    file: 'core/src/diagnostics/reports.ts',
    find: 'failure instanceof ClientClosedError ? cutOff(lockName, failure) : failure',
    replace: 'failure',
    test: 'packages/core/test/redis/release-waits.test.ts',
    only: 'ends with the grace',
  },
  'a wrong password is tried again': {
    file: 'core/src/redis/open-port.ts',
    find: 'port.trouble && lastsForGood(port.trouble)',
    replace: 'port.trouble && !port.trouble',
    test: 'packages/core/test/redis/connecting.test.ts',
    only: 'a wrong password',
  },
  'who has no listener of errors is told no reason': {
    file: 'core/src/redis/connection-trouble.ts',
    find: "this.event = kind === 'ioredis' ? 'error' : errorMonitor",
    replace: 'this.event = errorMonitor',
    test: 'packages/core/test/redis/connecting.test.ts',
    only: 'its error has why',
  },
  'a wait tells the time of its last try': {
    file: 'core/src/acquire/acquire-call.ts',
    find: 'throw this.waitMs === 0',
    replace: 'throw this.waitMs !== -1',
    test: 'packages/core/test/redis/connecting.test.ts',
    only: 'its error has why',
  },
  'a renewal that failed before another came through is the reason of a loss': {
    file: 'core/src/hold.ts',
    find: 'this.failed && this.failed.at > provenAt ?',
    replace: 'this.failed && this.failed.at < provenAt ?',
    test: 'packages/core/test/redis/unavailable.test.ts',
    only: 'the loss tells',
  },
  'trust for two leases': {
    file: 'watchdog/src/trusted-until.ts',
    find: 'sentAt + ttlMs - trustMarginMs(ttlMs)',
    replace: 'sentAt + 2 * ttlMs',
    torture: STOPPED,
  },
  'trust counted from the reply': {
    file: COMMANDS,
    find: 'this.grantedAt = command.sentAt this.token =',
    replace: 'this.grantedAt = this.session.clock.now(); this.token =',
    test: 'packages/core/test/redis/trust.test.ts',
  },
  'a renewal without an answer counts as one': {
    file: ROUND,
    find: 'for (const watch of asked) this.#report(watch, error)',
    replace: 'for (const watch of asked) watch.confirm(sentAt, watch.lease.ttlMs)',
    test: 'packages/watchdog/test/unit/watchdog-unknown.test.ts',
  },
  'the watchdog ends with the first error': {
    file: ROUND,
    find: 'this.#pause(attemptNumber)',
    replace: 'new Promise(() => undefined)',
    test: 'packages/core/test/redis/hold.test.ts',
    only: 'a silence that ends in time',
  },
  'the watchdog goes on after the release': {
    file: ACQUISITION,
    find: 'this.released = true',
    replace: 'this.released = true; this.watch = null',
    torture: CROWD,
  },
  'a broken connection is not noticed': {
    file: 'core/src/redis/ioredis/port.ts',
    find: 'this.connectionEpoch += 1',
    replace: '',
    torture: BROKEN,
  },
  'a broken connection of node-redis is not noticed': {
    file: 'core/src/redis/node-redis/port.ts',
    find: 'this.connectionEpoch += 1',
    replace: '',
    test: 'packages/core/test/redis/node-redis.test.ts',
    only: 'known to have been cut',
  },
  'node-redis keeps what it has not written when the connection breaks': {
    file: 'core/src/redis/node-redis/port.ts',
    find: 'unsent.abort()',
    replace: '',
    test: 'packages/core/test/redis/node-redis.test.ts',
    only: 'was not yet written',
  },
  '"not the owner" of a release that was sent twice reaches its owner': {
    file: COMMANDS,
    find: 'return wasDone ? RELEASED : reply',
    replace: 'return reply',
    torture: BROKEN,
  },
  'a time-out is taken for a no': {
    file: COMMANDS,
    find: "error.outcome === 'unknown'",
    replace: 'false',
    torture: SILENT,
  },
  'a release is tried once only': {
    file: COMMANDS,
    find: '!isWorthRetrying(error)',
    replace: 'true',
    torture: CUT_OFF,
  },
  'answers of a batch shifted by one': {
    file: DISPATCH,
    find: 'const reply = replies[i]',
    replace: 'const reply = replies[(i + 1) % replies.length]',
    torture: CROWD,
  },
  'one failed item of a batch fails the others': {
    file: DISPATCH,
    find: 'const reply = replies[i]',
    replace: 'const reply = replies.find((each) => this.transport.isErrorReply(each)) ?? replies[i]',
    test: 'packages/core/test/redis/batch.test.ts',
  },
  'a batch that is refused fails all its items': {
    file: DISPATCH,
    find: 'commands.filter((each) => !each.settled).forEach((each) => this.sendAlone(each))',
    replace: 'this.settle(commands, Array(commands.length).fill(error), itemsOf)',
    torture: FULL,
  },
  'items of a batch get the arguments of the first': {
    file: 'core/src/redis/batch.ts',
    find: 'if (arg !== item.args[place] && !places.includes(place)) {',
    replace: 'if (place < 0) {',
    torture: CROWD,
  },
  'renewals leave one on the answer of the other however far away Redis is': {
    file: 'watchdog/src/running-rounds.ts',
    find: 'shortestIntervalMs(chunks.flat()) * PART_FOR_A_ROW',
    replace: '100 * shortestIntervalMs(chunks.flat())',
    test: 'packages/core/test/redis/renewals-in-a-row.test.ts',
  },
  'a message about a forced release ends the hold': {
    file: 'core/src/client/client-channel.ts',
    find: '?.doubtForced()',
    replace: "?.lose('forced')",
    test: 'packages/core/test/redis/forged-messages.test.ts',
    only: 'ends no hold: Redis is asked once',
  },
  'what is doubted is trusted while the store is asked': {
    file: 'core/src/acquire/acquisition.ts',
    find: 'this.watch?.doubt()',
    replace: 'void this.session.watchdog.size',
    test: 'packages/core/test/redis/forged-messages.test.ts',
    only: 'is refused by `ensure` until Redis has answered',
  },
  'an answer that is older than a doubt is believed': {
    file: 'watchdog/src/tracked-watch.ts',
    find: 'this.#provenFrom = Math.max(this.#provenFrom, now)',
    replace: '',
    test: 'packages/watchdog/test/unit/watchdog-doubt.test.ts',
    only: 'while a question is on its way',
  },
  'a doubt makes the watchdog forget the one before': {
    file: 'watchdog/src/invalidated-answers.ts',
    find: 'this.#doubts.push(doubt)',
    replace: 'this.#doubts = [doubt]',
    test: 'packages/watchdog/test/unit/watchdog-doubt.test.ts',
  },
  'what was given up is sent behind replicas that are late': {
    file: 'core/src/redis/acknowledged-transport.ts',
    find: 'return waiting.filter(({ isWanted }) => isWanted())',
    replace: 'return waiting',
    test: 'packages/core/test/redis/replicas.test.ts',
    only: 'is not sent after them',
  },
  'a call without an answer outlives its client': {
    file: 'core/src/runtime/command-deadlines.ts',
    find: 'left.forEach((each) => each.abandon())',
    replace: '',
    test: 'packages/core/test/redis/close-calls.test.ts',
  },
}
