/** Files of the repository, in the order in which a reader meets them. */
const pages = (files) => files.trim().split(/\s+/)

/**
 * The sections of the site, each with its groups. A page of docs/, a README of a published package and an example has to
 * be named here: the build fails for one that is not, and for a name without a page. `decisions` are all of their folder.
 */
export const NAVIGATION = {
  guide: {
    Start: pages(`docs/first-lock.md docs/contexts.md docs/choosing.md docs/redisson-style-api.md
      docs/who-holds-a-lock.md docs/options.md docs/testing.md README.md`),
    'Kinds of lock': pages(`docs/fair-lock.md docs/read-write-lock.md docs/fenced-lock.md docs/fencing.md
      docs/semaphores.md docs/count-down-latch.md docs/multi-lock.md docs/redlock.md docs/spin-lock.md
      docs/non-reentrant-lock.md`),
    'In a service':
      pages(`docs/services.md packages/nestjs/README.md docs/next.md docs/queues.md packages/bullmq/README.md
      docs/schedule.md docs/election.md docs/share.md docs/handover.md`),
    Migrating: pages(`docs/migrating.md docs/beside-other-locks.md packages/redlock/README.md
      packages/redis-semaphore/README.md`),
    Operating:
      pages(`docs/deployment.md docs/clients.md docs/servers.md docs/support.md docs/managed-services.md docs/acl.md
      docs/errors.md docs/telemetry.md packages/otel/README.md docs/cli.md docs/board.md docs/guarantees.md
      docs/performance.md docs/linger.md docs/stability.md`),
    Examples: pages(`examples/README.md examples/cron-fleet/README.md examples/demo/README.md
      examples/fence/README.md examples/flash-sale/README.md examples/leader/README.md
      examples/migration/README.md examples/recursion/README.md examples/refresh-token/README.md
      examples/sequence/README.md examples/service/README.md`),
  },
  // The API of each package comes from the docstrings.
  reference: {
    Packages: pages(`packages/core/README.md packages/holdfast/README.md packages/testing/README.md
      packages/board/README.md packages/cli/README.md packages/fence/README.md`),
  },
  internals: {
    'How it works':
      pages(`docs/architecture.md docs/protocol.md docs/passing-on.md docs/wire-format.md docs/invariants.md
      docs/interop.md docs/other-clients.md`),
    'How it is tested':
      pages(`docs/reliability.md docs/simulator.md docs/histories.md docs/try-to-break-it.md packages/faults/README.md
      packages/faults/src/harness/README.md packages/interop/README.md`),
    'Packages below core': pages('packages/waiter/README.md packages/watchdog/README.md'),
    'The project': pages('CONTRIBUTING.md CHANGELOG.md SECURITY.md'),
    Decisions: 'decisions',
  },
}

/** In the sidebar, where the title of a page is long. */
export const SHORT_TITLES = {
  'README.md': 'The README',
  'docs/services.md': 'Requests and decorators',
  'packages/nestjs/README.md': 'NestJS',
  'packages/bullmq/README.md': 'BullMQ',
  'packages/otel/README.md': 'OpenTelemetry',
  'packages/faults/src/harness/README.md': 'The harness',
  'CHANGELOG.md': 'Changelog',
  'SECURITY.md': 'Reporting a vulnerability',
}
