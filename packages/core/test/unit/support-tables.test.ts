import { describe, expect, it } from '@jest/globals'
import { pages, read } from '../redis/support/markdown.js'

const script = (path: string): string => new URL(`../../../../scripts/${path}`, import.meta.url).href
const interopScript = (path: string): string => new URL(`../../../interop/run/${path}`, import.meta.url).href
const { withTables, PAGES } = (await import(script('support/tables.mjs'))) as {
  withTables: (page: string, text: string, record: object) => string
  PAGES: readonly string[]
}
const { cellOf } = (await import(script('support/record.mjs'))) as {
  cellOf: (
    outcome: { passed: number; failed: number; failures: string[]; again?: string[] },
    extent: string,
  ) => { readonly said: string }
}
const { parseArguments } = (await import(script('servers/arguments.mjs'))) as {
  parseArguments: (args: string[]) => { servers: { family: string; release: string }[] }
}
const { parseArguments: runtimes } = (await import(script('runtimes/arguments.mjs'))) as {
  parseArguments: (args: string[]) => { runtimes: { name: string }[] }
}
const { parseArguments: clients } = (await import(script('clients/arguments.mjs'))) as {
  parseArguments: (args: string[]) => Record<string, unknown> & { clients: { name: string }[] }
}
const { parseArguments: interop } = (await import(interopScript('arguments.mjs'))) as {
  parseArguments: (args: string[]) => Record<string, unknown>
}
const { lacksOf, VERSIONS } = (await import(interopScript('versions.mjs'))) as {
  lacksOf: (version: string) => Record<string, unknown> & { said: (isMapped: boolean) => string }
  VERSIONS: readonly string[]
}

const row = (what: string, cells: object): object => ({ what, date: '2026-11-23', commit: 'abc1234', cells })
const record = {
  servers: {
    'redis-6.2': row('Redis 6.2.14', { single: { state: 'missing', said: 'the wheel is gone' } }),
    'valkey-9': row('Valkey 9.1.2', {
      single: cellOf({ passed: 1234, failed: 0, failures: [] }, 'contract'),
      cluster: cellOf({ passed: 9, failed: 1, failures: ['locks lock\n    Error: no'] }, 'contract'),
    }),
  },
}

describe('a table of what runs on what', () => {
  it('has a row for each server, the newest first, and a reason for each cell that did not pass', () => {
    const page = 'before\n<!-- support: servers -->\nold\n<!-- /support -->\nafter\n'
    expect(withTables('page', page, record).split('\n')).toEqual([
      'before',
      '<!-- support: servers -->',
      '',
      '| server | one server | cluster of three primaries | run |',
      '| --- | --- | --- | --- |',
      '| Valkey 9.1.2 | passed: contract, 1,234 tests | **failed** | 2026-11-23, `abc1234` |',
      '| Redis 6.2.14 | not run | – | 2026-11-23, `abc1234` |',
      '',
      '- Valkey 9.1.2, cluster of three primaries: **failed**. contract, 1 of 10 failed: `locks lock`',
      '- Redis 6.2.14, one server: not run. the wheel is gone',
      expect.stringMatching(
        /^- –, cluster of three primaries \(Redis 6\.2\.14\): clusters run on the newest/,
      ),
      '',
      '<!-- /support -->',
      'after',
      '',
    ])
  })

  it('has the cause of a failure, which somebody has written, before the tests that failed', () => {
    const failed = {
      ...cellOf({ passed: 9, failed: 1, failures: ['a'] }, 'contract'),
      cause: 'It waits for b.',
    }
    const servers = { 'valkey-9': row('Valkey 9.1.2', { single: failed, cluster: failed }) }
    const lines = withTables('page', '<!-- support: servers -->\n<!-- /support -->', { servers }).split('\n')
    expect(lines).toContain(
      '- Valkey 9.1.2, one server: **failed**. It waits for b. (contract, 1 of 10 failed: `a`)',
    )
  })

  it('says of a cell that is of an earlier commit than its row when that was', () => {
    const [single, cluster] = [9, 5].map((passed) => cellOf({ passed, failed: 0, failures: [] }, 'contract'))
    const cells = { single, cluster: { ...cluster, run: '2026-11-22, `abc0000`' } }
    const page = '<!-- support: servers -->\n<!-- /support -->'
    expect(withTables('page', page, { servers: { 'valkey-9': row('Valkey 9.1.2', cells) } })).toContain(
      '| passed: contract, 9 tests | passed: contract, 5 tests; run 2026-11-22, `abc0000` | 2026-11-23, `abc1234` |',
    )
  })

  it('has a cause for each cell of the record that failed, and a reason for each that was not run', () => {
    const written = JSON.parse(read('docs/support.json')) as Record<
      string,
      Record<string, { what: string; cells: Record<string, { state: string; said: string; cause?: string }> }>
    >
    const rows = Object.values(written).flatMap((table) => Object.values(table))
    const cells = rows.flatMap(({ what, cells }) =>
      Object.entries(cells).map(([column, cell]) => ({ of: `${what}, ${column}`, ...cell })),
    )
    expect(cells.filter(({ state, cause = '' }) => state === 'failed' && cause === '')).toEqual([])
    expect(cells.filter(({ said }) => said === '')).toEqual([])
    // Needed for '–' too: writing the tables throws where one has no reason.
    expect(read('docs/support.md')).toMatch(/^- –, unit tests \(.*Deno [\d.]+\): /m)
  })

  it.each([
    ['<!-- support: servers -->\nno end', "has no '<!-- /support -->' behind it"],
    ['<!-- support: browsers -->\n<!-- /support -->', 'names none of servers'],
  ])('refuses marks that it cannot fill: %j', (page, complaint) => {
    expect(() => withTables('page', page, record)).toThrow(complaint)
  })

  it('stands as it was written: nobody has edited it by hand', () => {
    const written = JSON.parse(read('docs/support.json')) as object
    for (const page of PAGES) expect(withTables(page, read(page), written)).toBe(read(page))
    expect(pages.filter((page) => /<!-- support: /.test(read(page))).sort()).toEqual([...PAGES].sort())
  })

  it('has the versions of Redisson with the newest first', () => {
    const cells = { plain: cellOf({ passed: 5, failed: 0, failures: [] }, 'every kind') }
    const redisson = Object.fromEntries(
      [...VERSIONS].reverse().map((each) => [each, row(`Redisson ${each}`, cells)]),
    )
    const lines = withTables('page', '<!-- support: redisson -->\n<!-- /support -->', { redisson }).split(
      '\n',
    )
    const rows = VERSIONS.map(
      (each) => `| Redisson ${each} | passed: every kind, 5 tests | – | 2026-11-23, \`abc1234\` |`,
    )
    expect(lines.filter((line) => line.startsWith('| Redisson ')).slice(1)).toEqual(rows)
  })

  it('names the suites that passed in a second run only', () => {
    expect(cellOf({ passed: 7, failed: 0, failures: [], again: ['reentry'] }, 'contract')).toEqual({
      state: 'passed',
      said: 'contract, 7 tests; reentry in a second run, alone',
    })
  })

  it('says that a run without a test has failed', () => {
    const failures = ['a', 'b', 'c', 'd', 'e']
    expect(cellOf({ passed: 0, failed: 5, failures }, 'smoke').said).toBe(
      'smoke, 5 of 5 failed: `a`; `b`; `c`; and 2 more',
    )
    expect(cellOf({ passed: 0, failed: 0, failures: [] }, 'smoke')).toMatchObject({ state: 'failed' })
  })
})

describe('the clients that a run is asked for', () => {
  it('run every test, with what is given to Jest, unless a table is to be written', () => {
    const forJest = ['--testPathPatterns', 'trust']
    expect(clients(forJest)).toEqual({ writeDocs: false, forJest })
  })

  it('are all on every topology for the table, or those that are named', () => {
    const all = clients(['--write-docs'])
    expect(all.clients.map(({ name }) => name)).toEqual([
      ...['ioredis6', 'ioredis5', 'iovalkey', 'noderedis6', 'noderedis5'],
    ])
    expect(all.topologies).toEqual(['single', 'cluster', 'sentinel'])
    const few = clients(['--write-docs', '--only', 'iovalkey', '--on', 'sentinel'])
    expect([few.clients.map(({ name }) => name), few.topologies]).toEqual([['iovalkey'], ['sentinel']])
  })

  it.each([
    [['--only', 'iovalkey'], '--only goes with --write-docs'],
    [['--write-docs', '--on', 'pool'], "--on takes one of single, cluster, sentinel, not 'pool'"],
  ])('%j is refused', (args, complaint) => {
    expect(() => clients(args)).toThrow(complaint)
  })
})

describe('the runtimes that a run is asked for', () => {
  it('are all, or those that are named', () => {
    const chosen = (...args: string[]): string[] => runtimes(args).runtimes.map(({ name }) => name)
    expect(chosen()).toEqual(['node-26', 'node-24', 'node-22', 'node-20', 'bun', 'deno'])
    expect(chosen('--only', 'deno', '--only', 'node-20')).toEqual(['node-20', 'deno'])
  })

  it.each([
    [
      ['--only', 'node-18'],
      "--only takes one of node-26, node-24, node-22, node-20, bun, deno, not 'node-18'",
    ],
    [['--smoke', '--write-docs'], '--write-docs publishes the unit tests, too: it does not go with --smoke'],
  ])('%j is refused', (args, complaint) => {
    expect(() => runtimes(args)).toThrow(complaint)
  })
})

describe('the servers that a run is asked for', () => {
  const chosen = (...args: string[]): string[] =>
    parseArguments(args).servers.map(({ family, release }) => `${family} ${release}`)

  it('are all, those that are named, or the newest of each family', () => {
    expect(chosen()).toHaveLength(8)
    expect(chosen('--only', 'redis-7.0', '--only', 'valkey-8')).toEqual(['valkey 8', 'redis 7.0'])
    expect(chosen('--newest')).toEqual(['valkey 9', 'redis 8.2'])
  })

  it.each([
    [
      ['--only', 'redis-5'],
      "--only takes one of valkey-9, valkey-8.1, valkey-8, redis-8.2, redis-8.6, redis-7.4, redis-7.0, redis-6.2, not 'redis-5'",
    ],
    [['--only', 'redis-7.0', '--newest'], '--newest and --only choose servers: give one of them'],
    [['--smoke', '--write-docs'], '--write-docs publishes the contract suites: it does not go with --smoke'],
  ])('%j is refused', (args, complaint) => {
    expect(() => parseArguments(args)).toThrow(complaint)
  })
})

describe('the versions of Redisson that a run is asked for', () => {
  it('are the newest, all, or those that are named; with a NameMapper where nothing else is said', () => {
    expect(interop([])).toMatchObject({ versions: ['4.7.0'], columns: ['plain'], contentionMs: 60_000 })
    expect(interop(['--smoke'])).toMatchObject({ columns: ['plain'], mode: 'smoke', contentionMs: 5_000 })
    expect(interop(['--redisson', 'all'])).toMatchObject({ versions: VERSIONS, columns: ['plain', 'mapped'] })
    expect(interop(['--redisson', '3.30.0', '--mapped', 'names'])).toMatchObject({
      versions: ['3.30.0'],
      columns: ['mapped'],
      files: ['names'],
    })
    expect(interop(['locks', '--', '-t', 'wakes'])).toMatchObject({
      files: ['locks'],
      forJest: ['-t', 'wakes'],
    })
  })

  it.each([
    [['--redisson', 'newest'], "--redisson takes a version like 4.7.0, or all, not 'newest'"],
    [
      ['--write-docs', 'names'],
      '--write-docs publishes every test: it does not go with --smoke, --bench or a FILE',
    ],
    [['--bench', '--mapped'], '--bench does not go with --smoke or --mapped'],
    [['--seconds', '0'], "--seconds takes a whole number from 1 to 3600, not '0'"],
  ])('%j is refused', (args, complaint) => {
    expect(() => interop(args)).toThrow(complaint)
  })

  it('leave out what they do not have, and say so', () => {
    expect(lacksOf('4.7.0')).toMatchObject({ without: [], withoutMapped: [], hasFairWait: true })
    expect(lacksOf('4.7.0').said(true)).toBe('')
    expect(lacksOf('3.23.5')).toMatchObject({
      without: ['non-reentrant'],
      withoutMapped: ['fair'],
      hasFairWait: false,
    })
    expect(lacksOf('4.0.0').said(false)).toBe(' but the non-reentrant lock, which came with 4.6.1')
    expect(lacksOf('3.23.5').said(true)).toContain('; the fair lock, not mapped before 3.52.0')
  })
})
