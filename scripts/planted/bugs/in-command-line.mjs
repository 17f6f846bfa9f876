// Mistakes in the command line.
const WATCH = 'packages/cli/test/unit/group-watch.test.ts'

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
    find: 'if (this.isAlone && !signalGroup(group, 0)) {',
    replace: 'if (this.isAlone) {',
    test: WATCH,
    only: 'alone, it keeps to the last times',
  },
}
