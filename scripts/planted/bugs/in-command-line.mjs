// Mistakes in the command line.
const WATCH = 'packages/cli/test/unit/group-watch.test.ts'
const RUN = 'packages/cli/test/redis/run.test.ts'
const ASKED = 'packages/cli/test/redis/asked-names.test.ts'

export const BUGS_IN_COMMAND_LINE = {
  'the guardian ends a group without asking it first': {
    file: 'cli/src/guardian/watch-group.ts',
    find: 'now >= this.termAt && !this.termSent',
    replace: 'now >= this.killAt && !this.termSent',
    test: WATCH,
    only: 'asks the group to end at the one time',
  },
  'the guardian goes by the first times that it was told': {
    file: 'cli/src/guardian/watch-group.ts',
    find: 'this.killAt = message.killAt',
    replace: 'this.killAt = Math.min(this.killAt, message.killAt)',
    test: WATCH,
    only: 'goes by the times of the latest renewal',
  },
  'the guardian leaves a group alone when nobody tells it more': {
    file: 'cli/src/guardian/watch-group.ts',
    find: 'if (this.isAlone && !this.isThere(group)) {',
    replace: 'if (this.isAlone) {',
    test: WATCH,
    only: 'alone, it keeps to the last times',
  },
  'the guardian gives a group that it ends the time of a renewal that came late': {
    file: 'cli/src/guardian/watch-group.ts',
    find: 'if (!this.termSent) {',
    replace: 'if (true) {',
    test: WATCH,
    only: 'no more time',
  },
  'the guardian says that it has ended what had ended by itself': {
    file: 'cli/src/guardian/watch-group.ts',
    find: "if (canGroupRun(group) && signalGroup(group, 'SIGTERM')) {",
    replace: "if (signalGroup(group, 'SIGTERM')) {",
    test: WATCH,
    only: 'does not say that it has ended',
  },
  'what has ended and nobody asks about counts as running': {
    file: 'cli/src/guardian/group.ts',
    find: "if (process.platform !== 'linux') {",
    replace: 'if (true) {',
    test: WATCH,
    only: 'nobody asks about',
  },
  'a command runs under a lease that was not asked for yet': {
    file: 'cli/src/run/kept.ts',
    find: 'if (hold.trustedForMs >= leaseMs / 2) {',
    replace: 'if (true) {',
    test: RUN,
    only: 'behind a holder that gives it the lock',
  },
  'what is told on stderr moves the cursor': {
    file: 'cli/src/terminal.ts',
    find: '`holdfast: ${printable(text)}\\n`',
    replace: '`holdfast: ${text}\\n`',
    test: 'packages/cli/test/unit/words.test.ts',
    only: 'is one line that moves nothing',
  },
  'a holder ends the quotes around it': {
    file: 'cli/src/locks/shown-lock.ts',
    find: `text.replaceAll("'",`,
    replace: `text.replaceAll('no quote',`,
    test: 'packages/cli/test/unit/words.test.ts',
    only: 'is quoted for a shell',
  },
  'who guesses which strings are locks': {
    file: 'core/src/observe/observer.ts',
    find: 'return reply && reply.holds.size > 0 ?',
    replace: 'return reply && reply.holds.size > 0 && isLock(reply) ?',
    test: ASKED,
    only: 'ShedLock',
  },
  'break takes a hash of another application for a lock': {
    file: 'core/src/scripts/lock/shape.part.lua',
    find: "not string.find(fields[i], '^[1-9]%d*$')",
    replace: 'false',
    test: ASKED,
    only: 'an owner with no count',
  },
}
