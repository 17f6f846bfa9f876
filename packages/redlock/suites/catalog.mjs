/**
 * @typedef {object} Suite
 * @property {string} [npm] a package that has its own tests
 * @property {string} [git] the repository, where the package has not
 * @property {string} [commit]
 * @property {'mocha' | 'ava' | 'vitest'} runner
 * @property {string[]} files
 * @property {{ tests: RegExp, reason: string }[]} exceptions tests that may fail
 */

const SCRIPTS = 'passes scripts of its own'

/** @type {Record<string, Suite>} */
export const SUITES = {
  'redlock-4': {
    npm: 'redlock@4.2.0',
    runner: 'mocha',
    files: ['test.js'],
    exceptions: [
      { tests: /supports custom script functions/, reason: SCRIPTS },
      { tests: /should be backwards compatible/, reason: 'calls a private method, _lock' },
      {
        tests: /multi-server.*emits a clientError event/,
        reason: 'counts events: an attempt that a majority has refused asks the others all the same',
      },
    ],
  },
  'redlock-5': {
    git: 'https://github.com/mike-marcacci/node-redlock.git',
    commit: 'afe5cf92c8247ba7b65b4ae36230f415493c44f0',
    runner: 'ava',
    files: ['src/single.test.ts', 'src/multi.test.ts'],
    exceptions: [],
  },
  sesamecare: {
    git: 'https://github.com/sesamecare/redlock.git',
    commit: '4c15d7635011112bbd33936307127796f3cc8cba',
    runner: 'vitest',
    files: ['src/system.spec.ts', 'src/unit.spec.ts'],
    exceptions: [
      {
        tests: /^Redlock (acquire|release|extend)\(\)/,
        reason: 'ioredis is a mock, and its private commands are stubs',
      },
    ],
  },
}
