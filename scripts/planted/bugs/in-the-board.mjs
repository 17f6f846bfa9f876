// Mistakes in what only looks, and in the one thing that it may change.
const REQUESTS = 'packages/board/test/redis/board-requests.test.ts'
const OBSERVE = 'packages/core/test/redis/observe.test.ts'

export const BUGS_IN_THE_BOARD = {
  'the board breaks a lock without a token': {
    file: 'board/src/breaking.ts',
    find: "return this.isToken(request.header(TOKEN_HEADER) ?? '') ? null : 'The token is missing or too old.'",
    replace: 'return null',
    test: REQUESTS,
    only: 'without a token',
  },
  'the board takes a request of another origin for its own': {
    file: 'board/src/breaking.ts',
    find: '|| !isSameHost(request)',
    replace: '',
    test: REQUESTS,
    only: 'with the origin of another page',
  },
  'the board takes whatever authorize returns for a permission': {
    file: 'board/src/permission.ts',
    find: 'isAllowed: given === true',
    replace: 'isAllowed: Boolean(given)',
    test: REQUESTS,
    only: 'an answer that is neither',
  },
  'who may look is asked once for a stream': {
    file: 'board/src/routes.ts',
    find: 'if (!isAllowed) {',
    replace: 'if (false) {',
    test: 'packages/board/test/unit/streams.test.ts',
    only: 'asks again who may look',
  },
  'rows are due by the wall clock': {
    file: 'board/src/collect/lock-table.ts',
    find: '[name, { lookedAt }] of',
    replace: '[name, { row: { seenAt: lookedAt } }] of',
    test: 'packages/board/test/unit/lock-table.test.ts',
    only: 'when the wall clock was set back',
  },
  'a log that throws hides that a lock was broken': {
    file: 'board/src/breaking.ts',
    find: "warn('log() of the board failed', error)",
    replace: 'throw error',
    test: REQUESTS,
    only: 'whatever becomes of the log',
  },
  'the board answers under any name': {
    file: 'board/src/routes.ts',
    find: '!settings.allowedHosts.has(hostOf(request))',
    replace: 'hostOf(request) === undefined',
    test: REQUESTS,
    only: 'answers to the hosts',
  },
  'the board searches all keys as fast as Redis answers': {
    file: 'board/src/collect/collector.ts',
    find: 'const count = Math.ceil((this.limits.scanKeysPerSecond * TICK_MS) / 1_000)',
    replace: 'const count = 1_000',
    test: REQUESTS,
    only: 'searches no more keys a second',
  },
  'a report outlives its client': {
    file: 'core/src/observe/report.ts',
    find: "await this.keep(0, '').catch(() => undefined)",
    replace: '',
    test: OBSERVE,
    only: 'ends with its client',
  },
  'a report silences the warning of a loss': {
    file: 'core/src/diagnostics/reports.ts',
    find: "if (session.events.hasListeners('lost')) {",
    replace: "if (session.events.observer || session.events.hasListeners('lost')) {",
    test: OBSERVE,
    only: 'a loss that only it hears of',
  },
  'an observer follows locks that nobody asked for': {
    file: 'core/src/observe/live-feed.ts',
    find: 'if (now < (this.wantedUntil.get(row[1]) ?? 0)) {',
    replace: 'if (this.isListening) {',
    test: OBSERVE,
    only: 'of no other',
  },
}
