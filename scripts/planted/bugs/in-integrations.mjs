// Mistakes in what stands between a framework and the locks.
const LAZY = 'core/src/arguments/lazy-result.ts'
const EXCLUSIVE_TEST = 'packages/nestjs/test/redis/nest-exclusive.test.ts'
const LAZY_TEST = 'packages/core/test/redis/decorators-lazy.test.ts'

export const BUGS_IN_INTEGRATIONS = {
  'the client of an application closes before its workers': {
    file: 'nestjs/src/workers.ts',
    find: 'workers.add(each)',
    replace: '',
    test: 'packages/nestjs/test/redis/nest-module.test.ts',
    only: 'closes its client after the workers',
  },
  'a job whose client closes fails': {
    file: 'bullmq/src/locked.ts',
    find: "'CLIENT_CLOSED')) {",
    replace: "'NONE')) {",
    test: 'packages/bullmq/test/redis/locked.test.ts',
    only: 'puts back what has not begun',
  },
  'a job keeps the context in which its worker was made': {
    file: 'bullmq/src/locked.ts',
    find: 'detached(async () => run(processor, options, { job, token, signal: nativeSignal(signal) }))',
    replace: 'run(processor, options, { job, token, signal: nativeSignal(signal) })',
    test: 'packages/bullmq/test/redis/locked.test.ts',
    only: 'inherits nothing of the request',
  },
  'the context of a request whose client has gone never ends': {
    file: 'core/src/http/request-context.ts',
    find: 'whenHandlerEnds(response, resolve)',
    replace: 'void whenHandlerEnds',
    test: 'packages/core/test/redis/http.test.ts',
    only: 'though its client has gone',
  },
  'a decorated generator is iterated without the lock': {
    file: 'core/src/decorators/locked.ts',
    find: 'refuseGenerator(method)',
    replace: '',
    test: LAZY_TEST,
    only: 'is refused when it is decorated',
  },
  'what a decorated method gives is read without the lock': {
    file: LAZY,
    find: '!isFunction(given.then) && (isRead(given) || isIterator(given))',
    replace: 'false',
    test: LAZY_TEST,
    only: 'is refused by the call',
  },
  'a promise that can be iterated is refused': {
    file: LAZY,
    find: '!isFunction(given.then) && (isRead(given) || isIterator(given))',
    replace: '(isRead(given) || isIterator(given))',
    test: LAZY_TEST,
    only: 'a promise that can be iterated',
  },
  'misspelt options of the instrumentation mean nothing': {
    file: 'otel/src/options.ts',
    find: "checkOptions('options', options, INSTRUMENTATION_OPTIONS)",
    replace: '',
    test: 'packages/otel/test/unit/options.test.ts',
    only: 'refuse what nobody reads',
  },
  'misspelt options of a locked processor mean nothing': {
    file: 'bullmq/src/options.ts',
    find: "checkOptions('options', options, LOCKED_OPTIONS)",
    replace: '',
    test: 'packages/bullmq/test/redis/arguments.test.ts',
    only: 'nearest to',
  },
  'answers to errors are checked when the first lock is busy': {
    file: 'nestjs/src/options.ts',
    find: 'lockHttpError(undefined, errors)',
    replace: '',
    test: 'packages/nestjs/test/redis/nest-module.test.ts',
    only: 'refuses options',
  },
  'a method of a schedule runs whenever its lock is free': {
    file: 'nestjs/src/exclusive.ts',
    find: 'exclusive(name, { locks, everyMs, atMostForMs, atLeastForMs }',
    replace: 'exclusive(name, { locks }',
    test: EXCLUSIVE_TEST,
    only: 'each tick of a scheduler once',
  },
  'who comes a little later comes for the next tick': {
    file: 'core/src/schedule/wall-ticks.ts',
    find: '(at + early) / everyMs) * everyMs',
    replace: '(at + 0.9 * everyMs) / everyMs) * everyMs',
    test: EXCLUSIVE_TEST,
    only: 'each tick of a scheduler once',
  },
  'two ticks that are taken for one are skipped in silence': {
    file: 'core/src/schedule/wall-ticks.ts',
    find: 'tick === latest.tick && at - latest.at < everyMs * LEAST_APART',
    replace: 'false',
    test: EXCLUSIVE_TEST,
    only: 'comes twice for one tick',
  },
  'jobs that were refused together come back together': {
    file: 'bullmq/src/default-delay.ts',
    find: 'longest * (1 - random / 2)',
    replace: 'longest',
    test: 'packages/bullmq/test/unit/default-delay.test.ts',
  },
  'names that are used once push out those in use': {
    file: 'otel/src/series.ts',
    find: 'return resolved && this.keep(lockName, resolved)',
    replace: 'return resolved',
    test: 'packages/otel/test/unit/series.test.ts',
    only: 'in use',
  },
}
