/**
 * Which pages the site has, and in what order a reader meets them. `npm run docs` fails for a page that is named here and
 * missing, and for a page of docs/, a README of a published package or an example that is not named.
 *
 * A page is a file of the repository, alone or with a shorter title for the sidebar. `all` is every page of a folder,
 * which get a page that lists them.
 *
 * @typedef {string | [file: string, title: string]} NamedPage
 * @typedef {{ title: string, pages?: NamedPage[], all?: 'examples' | 'docs/decisions', intro?: string }} Group
 * @typedef {{ title: string, path: string, groups: Group[] }} Section
 *
 * @type {Section[]}
 */
export const NAVIGATION = [
  {
    title: 'Guide',
    path: 'guide',
    groups: [
      {
        title: 'Start',
        pages: [
          'docs/first-lock.md',
          'docs/contexts.md',
          'docs/choosing.md',
          'docs/redisson-style-api.md',
          'docs/who-holds-a-lock.md',
          'docs/options.md',
          'docs/testing.md',
          ['README.md', 'The README'],
        ],
      },
      {
        title: 'Kinds of lock',
        pages: [
          'docs/fair-lock.md',
          'docs/read-write-lock.md',
          'docs/fenced-lock.md',
          'docs/fencing.md',
          'docs/semaphores.md',
          'docs/count-down-latch.md',
          'docs/multi-lock.md',
          'docs/redlock.md',
          'docs/spin-lock.md',
          'docs/non-reentrant-lock.md',
        ],
      },
      {
        title: 'In a service',
        pages: [
          ['docs/services.md', 'Requests and decorators'],
          ['packages/nestjs/README.md', 'NestJS'],
          'docs/queues.md',
          ['packages/bullmq/README.md', 'BullMQ'],
          'docs/schedule.md',
          'docs/election.md',
          'docs/share.md',
          'docs/handover.md',
        ],
      },
      {
        title: 'Migrating',
        pages: [
          'docs/migrating.md',
          'docs/beside-other-locks.md',
          'packages/redlock/README.md',
          'packages/redis-semaphore/README.md',
        ],
      },
      {
        title: 'Operating',
        pages: [
          'docs/deployment.md',
          'docs/clients.md',
          'docs/support.md',
          'docs/managed-services.md',
          'docs/acl.md',
          'docs/errors.md',
          'docs/telemetry.md',
          ['packages/otel/README.md', 'OpenTelemetry'],
          'docs/cli.md',
          'docs/board.md',
          'docs/guarantees.md',
          'docs/performance.md',
          'docs/stability.md',
        ],
      },
      {
        title: 'Examples',
        all: 'examples',
        intro:
          'Each example is a small program of several processes that runs on a real Redis. `npm run example -- recursion` runs the one of that name, in a clone of the repository.',
      },
    ],
  },
  {
    title: 'Reference',
    path: 'reference',
    groups: [
      // The API of each package follows: it comes from the docstrings.
      {
        title: 'Packages',
        pages: [
          'packages/core/README.md',
          'packages/holdfast/README.md',
          'packages/testing/README.md',
          'packages/board/README.md',
          'packages/cli/README.md',
          'packages/fence/README.md',
        ],
      },
    ],
  },
  {
    title: 'Internals',
    path: 'internals',
    groups: [
      {
        title: 'How it works',
        pages: [
          'docs/architecture.md',
          'docs/protocol.md',
          'docs/wire-format.md',
          'docs/invariants.md',
          'docs/interop.md',
          'docs/other-clients.md',
        ],
      },
      {
        title: 'How it is tested',
        pages: [
          'docs/reliability.md',
          'docs/simulator.md',
          'packages/faults/README.md',
          ['packages/faults/src/harness/README.md', 'The harness'],
          'packages/interop/README.md',
        ],
      },
      { title: 'Packages below core', pages: ['packages/waiter/README.md', 'packages/watchdog/README.md'] },
      {
        title: 'The project',
        pages: [
          'CONTRIBUTING.md',
          ['CHANGELOG.md', 'Changelog'],
          ['SECURITY.md', 'Reporting a vulnerability'],
        ],
      },
      {
        title: 'Decisions',
        all: 'docs/decisions',
        intro:
          'Each page tells one choice that somebody may question later: what it is about, what was decided, and what follows. A later decision may change an earlier one; the later page says so.',
      },
    ],
  },
]

/** What the entries of packages beside their main one are for: a line each in the list of the reference. */
export const SUBPATHS = {
  '@holdfast/core/decorators': '`@Locked` above a method.',
  '@holdfast/core/election': 'A leader of the fleet, with a token for each term.',
  '@holdfast/core/http':
    'A context for each request of Express, Fastify, Koa and Hono, and errors as responses.',
  '@holdfast/core/observe': 'What looks at locks needs of a client: reports, and looks that change nothing.',
  '@holdfast/core/schedule': 'Ticks that run once in the fleet.',
  '@holdfast/core/share': 'One run for all callers that want the same result.',
  '@holdfast/core/travel': 'A hold that is handed over to another process.',
  '@holdfast/cli/guardian': 'The process that ends a command in time.',
  '@holdfast/redlock/v4': 'The API of redlock 4, with callbacks.',
  '@holdfast/fence/pg': 'The fence in a transaction of pg and PGlite.',
  '@holdfast/fence/postgres': 'The fence in a transaction of postgres.js.',
  '@holdfast/fence/mysql2': 'The fence in a transaction of mysql2.',
  '@holdfast/fence/better-sqlite3': 'The fence in a transaction of better-sqlite3.',
  '@holdfast/fence/node-sqlite': 'The fence in a transaction of node:sqlite.',
  '@holdfast/fence/kysely': 'The fence in a transaction of Kysely.',
  '@holdfast/fence/drizzle': 'The fence in a transaction of Drizzle.',
  '@holdfast/fence/prisma': 'The fence in a transaction of Prisma.',
  '@holdfast/fence/knex': 'The fence in a transaction of Knex.',
  '@holdfast/fence/typeorm': 'The fence in a transaction of TypeORM.',
}
