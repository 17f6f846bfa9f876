/**
 * How `.ci/run` runs each command that a page names, in a form of seconds: what nobody runs rots. One of
 * `smoke` (what `smokes.mjs` runs: a script and its arguments), `step` (a part of a line of `.ci/run`) or `test` (a test
 * file that starts the script). A test checks that every command of every page is here, and that each is run as it says.
 *
 * @type {Record<string, { smoke?: string, step?: string, test?: string }>}
 */
export const COMMANDS = {
  start: { test: 'packages/core/test/redis/programs/demo.test.ts' },
  example: { smoke: 'scripts/example.mjs sequence' },
  build: { step: 'npm test' },
  test: { step: 'npm test' },
  'test:unit': { step: 'npm test' },
  'test:fleets': { step: 'scripts/run-tests.mjs --selectProjects fleets' },
  'test:clients': {
    smoke: 'scripts/clients/main.mjs --selectProjects ioredis5 noderedis5 --testPathPatterns locks/trust',
  },
  // Its scenarios: below.
  faults: { step: 'scripts/faults.mjs torture --minutes 1' },
  simulate: { step: 'scripts/simulate.mjs --minutes 20' },
  'test:runtimes': { step: 'scripts/runtimes/main.mjs --smoke --only node-24' },
  'test:servers': { step: 'scripts/servers.mjs --smoke --newest' },
  // On the programs of this machine or the cache; what cannot be had is not run, and said.
  'test:behaviour': { smoke: 'packages/outside/behaviour/main.mjs --quick' },
  // Skipped where there is no Go, and says so.
  judge: { smoke: 'packages/faults/judge/main.mjs --seeds 20 --no-bugs' },
  'test:engine': { step: 'packages/testing/fuzz/main.mjs --operations 20000' },
  'test:interop': { step: 'packages/interop/run/main.mjs --smoke' },
  // Skipped where npm cannot be reached, and says so; a database that cannot be had is not run.
  'test:fence': { step: 'packages/fence/databases/main.mjs --smoke' },
  // Skipped where npm cannot be reached, and says so.
  'test:peers': { smoke: 'packages/outside/peers.mjs --only bullmq' },
  'test:redlock': { smoke: 'packages/redlock/suites/main.mjs --only redlock-4' },
  // A host that cannot be fetched is skipped, and says so.
  'test:street': { test: 'packages/core/test/redis/programs/street.test.ts' },
  'test:planted': { step: 'packages/faults/planted/run.mjs ' },
  bench: { step: 'packages/bench/bench.mjs --smoke' },
  'bench:beside': { smoke: 'packages/bench/beside.mjs --rules --library redlock-4 --seconds 3' },
  'bench:before': { smoke: 'packages/bench/before.mjs --folder . --rounds 1 --ms 20' },
  meter: { step: 'npm run meter' },
  types: { step: 'npm run types' },
  lint: { step: 'npm run lint' },
  // Without writing: what it would write is a failure of the lint.
  format: { step: 'npm run lint' },
  docs: { step: 'npm run docs -- --check' },
  // It does all that these do, with the versions that come next.
  release: { step: 'npm run release -- --dry-run' },
  'check:packages': { step: 'npm run release -- --dry-run' },
  'check:api': { step: 'npm run check:api' },
  changeset: { step: 'npm run release -- --dry-run' },
  version: { step: 'npm run release -- --dry-run' },
}

/**
 * Scenarios of packages/faults that a test file or a step of CI runs. Each of the others runs as a smoke, with the
 * arguments that it names itself.
 *
 * @type {Record<string, { step?: string, test?: string }>}
 */
export const SCENARIOS_RUN_ELSEWHERE = {
  torture: { step: 'scripts/faults.mjs torture --minutes 1' },
  topologies: { step: 'scripts/faults.mjs topologies --smoke' },
}

/** Commands of the pages that are a script, without a name in package.json. */
export const SCRIPTS = {
  'scripts/embed-lua.mjs': { step: 'npm test' },
  'scripts/pages/measure.mjs': { smoke: 'scripts/pages/measure.mjs README.md docs/first-lock.md' },
}
