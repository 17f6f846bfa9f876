// Mistakes in what is special about a kind of lock.
import { FAIR, ONLY_PAUSES, ONLY_TURNS, READ_WRITE } from '../tortures.mjs'

const SPIN = 'core/src/protocols/spin.ts'
const SPIN_TEST = 'packages/core/test/redis/spin-lock.test.ts'

const MULTI_LINE = 'packages/core/test/redis/multi-lock-line.test.ts'
const HUNG = 'packages/core/test/redis/red-lock-hung.test.ts'
const REFUSED = 'packages/core/test/redis/compound-refused.test.ts'

export const BUGS_IN_KINDS = {
  'verify of a reader counts the lease of the other readers': {
    file: 'core/src/scripts/read-lock/remaining.lua',
    find: "left = math.max(left, redis.call('pttl', KEYS[2] .. ':' .. n))",
    replace: "left = redis.call('pttl', KEYS[1])",
    test: 'packages/core/test/redis/read-write-wire.test.ts',
    only: 'has its own',
  },
  'callers that want the same locks all ask for them': {
    file: 'core/src/compound/caller-queue.ts',
    find: 'if (call.waitMs === 0 || membersHeld(call, wanted).length > 0)',
    replace: 'if (call !== null)',
    test: MULTI_LINE,
    only: 'ask one by one',
  },
  'who has a part of the locks waits for who wants them': {
    file: 'core/src/compound/caller-queue.ts',
    find: 'if (call.waitMs === 0 || membersHeld(call, wanted).length > 0)',
    replace: 'if (call.waitMs === 0)',
    test: MULTI_LINE,
    only: 'who has one of them already',
  },
  'who waits for several locks hears one after the other that nobody answers': {
    file: 'core/src/compound/caller-queue.ts',
    find: 'line.outage = { at: this.session.runtime.now(), error }',
    replace: '',
    test: MULTI_LINE,
    only: 'not one after the other',
  },
  'who is refused several locks is told before they are free': {
    file: 'core/src/compound/compound-lock.ts',
    find: 'await call.whenGivenBack(this.rule.patienceMs)',
    replace: '',
    test: REFUSED,
    only: 'one attempt',
  },
  'who stops wanting several locks is told before what was on its way is undone': {
    file: 'core/src/acquire/call-in-progress.ts',
    find: 'call.whole?.givesBack(work)',
    replace: '',
    test: REFUSED,
    only: 'aborted while it asks',
  },
  'a node that hangs is not passed over': {
    file: 'core/src/compound/node-health.ts',
    find: 'this.silent = true',
    replace: '',
    test: HUNG,
    only: 'it is passed over, and counts again',
  },
  'a node that was passed over is never asked again': {
    file: 'core/src/compound/node-health.ts',
    find: 'void this.ask(member, timeoutMs)',
    replace: '',
    test: HUNG,
    only: 'it is passed over, and counts again',
  },
  'votes that are not enough are kept until a node that hangs has been waited for': {
    file: 'core/src/compound/quorum-round.ts',
    find: 'held + pending.size < quorum.needed && !this.isFirstPending',
    replace: 'false',
    test: HUNG,
    only: 'gives its votes back',
  },
  'a vote that came when the outcome was decided is kept for a lease': {
    file: 'core/src/compound/quorum-round.ts',
    find: 'this.call.giveBack([answer.held])',
    replace: '',
    test: HUNG,
    only: 'is given back while the lock is held',
  },
  'a lock of too few nodes is given': {
    file: 'core/src/compound/quorum-tally.ts',
    find: 'levelsIn(this.answers).length >= needed',
    replace: 'levelsIn(this.answers).length >= needed - 1',
    test: 'packages/core/test/redis/red-lock.test.ts',
    only: 'by a quorum, refused and nothing stays',
  },
  'a fair lock goes to whoever asks first': {
    file: 'core/src/scripts/fair-lock/acquire.lua',
    find: '(not first or first.owner == ARGV[1])',
    replace: 'true',
    torture: FAIR,
  },
  'a fair lock tells nobody whose turn it is': {
    file: 'core/src/scripts/fair-lock/release.lua',
    find: "publish('publish', inbox, '2:grant:' .. redis.sha1hex(nonce .. told .. nonce) .. ':' .. told)",
    replace: '0',
    torture: ONLY_TURNS,
  },
  'a reader does not look for a writer': {
    file: 'core/src/scripts/read-lock/acquire.lua',
    find: "local open = mode == 'read' or not mode and isFree(KEYS[1])",
    replace: 'local open = true',
    torture: READ_WRITE,
  },
  'a writer gives its readers up with the write lock': {
    file: 'core/src/scripts/write-lock/release.lua',
    find: "redis.call('hset', KEYS[1], 'mode', 'read')",
    replace: "redis.call('del', KEYS[1])",
    torture: READ_WRITE,
  },
  'a reader leaves the time-outs of its holds': {
    file: 'core/src/scripts/read-lock/release.lua',
    find: "redis.call('del', KEYS[3] .. ':' .. i)",
    replace: '',
    test: 'packages/core/test/redis/read-write-wire.test.ts',
    only: 'one time-out key of value 1 per hold',
  },
  'the waiter of a spin lock sleeps until it is told': {
    file: SPIN,
    find: 'return this.backoff(refusals, () => this.session.runtime.random())',
    replace: 'return Infinity',
    torture: ONLY_PAUSES,
  },
  'a spin lock does not count its refusals': {
    file: 'core/src/acquire/contention.ts',
    find: 'this.refusals += 1',
    replace: 'this.refusals = 1',
    test: SPIN_TEST,
    only: 'double up to the longest',
  },
  'a spin lock is not handed on inside its process': {
    file: SPIN,
    find: 'if (change.holds === 0)',
    replace: 'if (false)',
    test: SPIN_TEST,
    only: 'handed the lock by a release',
  },
  'a spin lock says when it is released': {
    file: SPIN,
    find: 'foreignLocks, false)',
    replace: 'foreignLocks, true)',
    test: 'packages/core/test/redis/spin-lock-wire.test.ts',
    only: 'says nothing',
  },
  'a non-reentrant lock re-enters': {
    file: 'core/src/acquire/reentry.ts',
    find: 'if (refusesReentry)',
    replace: 'if (false)',
    test: 'packages/core/test/redis/non-reentrant-lock.test.ts',
    only: 'its owner is refused',
  },
  'a node joins a hold of a RedLock whose majority has ended': {
    file: 'core/src/compound/compound-hold.ts',
    find: 'this.isOver || this.isShortened || isKnown || level.hold.lossError || this.trustedForMs === 0',
    replace: 'isKnown',
    test: 'packages/core/test/unit/compound-hold.test.ts',
    only: 'nobody has looked since',
  },
  'a node that was taken again is not the one that a callback re-enters': {
    file: 'core/src/compound/compound-hold.ts',
    find: 'part.frame.acquisition = acquisition',
    replace: '',
    test: 'packages/core/test/redis/red-lock-faults.test.ts',
    only: 'inside withLock is re-entered',
  },
  'a hold of a RedLock takes no node again': {
    file: 'core/src/acquire/acquired-lease.ts',
    find: 'this.loss.afterRenewal?.()',
    replace: '',
    test: 'packages/core/test/redis/red-lock-faults.test.ts',
    only: 'is taken again at a renewal',
  },
  'a multi lock is given with a member that is lost': {
    file: 'core/src/compound/take-all.ts',
    find: '&& !lost && !isAborted',
    replace: '&& !isAborted',
    test: 'packages/core/test/redis/multi-lock-servers.test.ts',
    only: 'until the lease of the other is over',
  },
  'a reader that a writer leaves has the lock for as long as the writer had it': {
    file: 'core/src/scripts/write-lock/release.lua',
    find: 'if leaveToReaders(KEYS[1], KEYS[4], ARGV[8]) then',
    replace: "if redis.call('hlen', KEYS[1]) == 1 then redis.call('del', KEYS[1]) else",
    test: 'packages/core/test/redis/read-write-wire.test.ts',
    only: 'a reader that is left by a writer',
  },
}
