import { describe, expect, it } from '@jest/globals'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as api from '../../src/index.js'
import * as keys from '../../src/keys.js'
import { resolveOptions } from '../../src/options.js'
import { REPLAY_GUARD_TTL_MS } from '../../src/scripts/replay-guard.js'
import * as election from '../../src/entries/election/index.js'
import * as share from '../../src/entries/share/index.js'
import * as travel from '../../src/entries/travel/index.js'
import * as fence from '../../../fence/src/index.js'
import { allLuaSources } from '../redis/support/all-lua-sources.js'
import { syntaxErrorsIn, titlesIn, typeErrorsIn } from '../redis/support/code-checks.js'
import {
  codeBlocks,
  filesBelow,
  pages,
  programs,
  read,
  root,
  rows,
  section,
} from '../redis/support/markdown.js'

// Not a string of its own: whoever compiles this has no types of it.
const slugs = new URL('../../../../docs/.vitepress/slug.mjs', import.meta.url).href
const { slug } = (await import(slugs)) as { slug: (heading: string) => string }

/** The members of `export type name = 'a' | 'b'`. */
function unionOf(file: string, name: string): string[] {
  const [, body] = new RegExp(`export type ${name} =([^]*?)\\n\\n`).exec(read(file)) ?? []
  return [...(body ?? '').matchAll(/'([^']+)'/g)].map(([, member]) => member!)
}

/** Writes a number like the pages: 30 000. */
const spaced = (value: number): string => value.toLocaleString('en').replaceAll(',', ' ')

const sorted = (values: Iterable<string>): string[] => [...values].sort()

/** The commands that the scripts call, as they write them. */
const called = Object.values(allLuaSources).flatMap((lua) =>
  [...lua.matchAll(/(?:redis\.p?call|publish)\('(\w+)'/g)].map(([, command]) => command!),
)

describe('docs/errors.md', () => {
  const source = 'packages/core/src/errors.ts'
  const page = 'docs/errors.md'
  const ofEntries = [
    'entries/election/candidate-unavailable-error.ts',
    'entries/election/term-ended-error.ts',
    'entries/share/errors.ts',
    'entries/travel/handover-gone-error.ts',
    '../../fence/src/errors.ts',
  ].map((file) => `packages/core/src/${file}`)
  const classes = [source, ...ofEntries]
    .map(read)
    .join('')
    .split(/^export class /m)
    .slice(1)
    .filter((text) => /^\w+ extends LockError/.test(text))
    .map((text) => ({
      name: /^\w+/.exec(text)![0],
      code: /super\(\s*'([A-Z_]+)'/.exec(text)?.[1],
      fields: [...text.matchAll(/^ {2}readonly (\w+):/gm)].map(([, field]) => field!),
    }))
  const table = rows(section(page, 'Codes'))

  it('names exactly the codes of LockErrorCode', () => {
    const codes = unionOf(source, 'LockErrorCode')
    expect(codes.length).toBeGreaterThan(5)
    expect(sorted(table.map(([code]) => code!))).toEqual(sorted(codes))
  })

  it('names exactly the exported error classes, each with its code, when it comes and what to do', () => {
    const exported = Object.entries({ ...api, ...election, ...share, ...travel, ...fence }).filter(
      ([, value]) => typeof value === 'function' && value.prototype instanceof api.LockError,
    )
    expect(sorted(classes.map(({ name }) => name))).toEqual(sorted(exported.map(([name]) => name)))
    expect(table.map(([code, name]) => `${name!.split(' ')[0]} ${code}`).sort()).toEqual(
      classes.map(({ name, code }) => `${name} ${code}`).sort(),
    )
    expect(table.filter((row) => row.length !== 4 || row.includes(''))).toEqual([])
  })

  it('names exactly the fields that a class adds', () => {
    let current = ''
    const described = rows(section(page, 'Fields')).flatMap(([name, fields]) => {
      current = name === '' ? current : name!
      return fields!.split(', ').map((field) => `${current}.${field}`)
    })
    expect(sorted(described)).toEqual(
      sorted(classes.flatMap(({ name, fields }) => fields.map((f) => `${name}.${f}`))),
    )
  })

  it.each(['LossReason', 'CommandOutcome'])('says what each %s means', (type) => {
    const members = unionOf(source, type)
    expect(members.length).toBeGreaterThan(2)
    const text = section(page, 'Fields')
    expect(members.filter((member) => !text.includes(`\`${member}\`:`))).toEqual([])
  })

  it('names exactly the process warnings', () => {
    const codes = unionOf('packages/core/src/events.ts', 'WarningCode')
    expect(sorted(rows(section(page, 'Process warnings')).map(([code]) => code!))).toEqual(sorted(codes))
  })
})

describe('docs/options.md', () => {
  const optionsSource = read('packages/core/src/options.ts')
  const [, declared] = /export interface LockClientOptions \{([^]*?)\n\}/.exec(optionsSource) ?? []
  const names = [...(declared ?? '').matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name!)
  const defaults = resolveOptions() as unknown as Record<string, string | number | boolean | undefined>

  /** The table's way to write a default. */
  const written = (name: string): string => {
    if (name === 'clientName') {
      return '<hostname>-<pid>'
    }
    if (name === 'runtime') {
      return "the system's"
    }
    const value = defaults[name]
    if (typeof value === 'boolean') {
      return String(value)
    }
    return typeof value === 'number' ? spaced(value) : value === undefined ? 'off' : `'${value}'`
  }

  /** Whose defaults core's list leaves out. */
  const UNTOLD = new Set(['clientName', 'runtime'])

  /** A default of core's list as the table has it: 30 s is 30 000. */
  const inTables = (told: string): string => {
    const [, number, unit] = /^(\d+)(?: (s|min))?$/.exec(told) ?? []
    const factor = { s: 1_000, min: 60_000 }[unit ?? ''] ?? 1
    return number === undefined ? told.replaceAll('`', '') : spaced(Number(number) * factor)
  }

  it('lists exactly the options of LockClientOptions, with their defaults and trade-offs', () => {
    expect(names.length).toBeGreaterThan(5)
    const table = rows(section('docs/options.md', 'Options'))
    expect(table.map(([name, value]) => [name, value])).toEqual(names.map((name) => [name, written(name)]))
    expect(table.filter((row) => row.length !== 3 || row[2] === '')).toEqual([])
  })

  it('the README of core lists exactly the same options, with the defaults that it tells', () => {
    const [list = ''] = section('packages/core/README.md', 'Options').split(/(?<=for tests)\./)
    const listed = [...list.matchAll(/`(\w+)`(?: \(([^)]+)\))?/g)]
    expect(listed.map(([, name, told]) => [name, told && inTables(told)])).toEqual(
      names.map((name) => [name, UNTOLD.has(name) ? undefined : written(name)]),
    )
  })

  it('lists exactly the events', () => {
    const events = [
      .../export interface LockEvents \{([^]*?)\n\}/
        .exec(read('packages/core/src/events.ts'))![1]!
        .matchAll(/^ {2}'?([\w-]+)'?: \{([^}]*)\}$/gm),
    ].map(([, name, fields]) => [
      name,
      [...fields!.matchAll(/(\w+):/g)].flatMap(([, field]) => (field === 'lockName' ? [] : field)),
    ])
    expect(events.length).toBeGreaterThan(3)
    const table = rows(section('docs/options.md', 'Events'))
    expect(
      table.map(([name, , fields]) => [name, fields!.replace(/, (once|the) .*/, '').split(', ')]),
    ).toEqual(events)
  })
})

describe('docs/acl.md', () => {
  it('allows the commands that the scripts call, and no others of those', () => {
    const needed = called.map((command) => (command === 'pubsub' ? 'pubsub|numsub' : command))
    const [rule = ''] = /^ACL SETUSER [^`]+/m.exec(read('docs/acl.md')) ?? []
    const allowed = [...rule.matchAll(/\+([\w|]+)/g)].map(([, command]) => command!)
    const sent = ['evalsha', 'eval', 'subscribe', 'unsubscribe', 'info', 'ping', 'hello']
    expect(sorted(allowed)).toEqual(sorted(new Set([...needed, ...sent, 'client|setname'])))
  })
})

describe('docs/invariants.md', () => {
  const cited = [...read('docs/invariants.md').matchAll(/^- `([^`]+)`: (.+)$/gm)].map(([, file, title]) => ({
    file: file!,
    title: title!,
  }))

  it.each([...new Set(cited.map(({ file }) => file))])('names only tests that exist in %s', (file) => {
    const titles = titlesIn(file)
    expect(cited.filter((each) => each.file === file && !titles.has(each.title))).toEqual([])
  })

  it.each(Array.from({ length: 15 }, (_, i) => i + 1))('proves I%i by tests that exist', (n) => {
    const [heading] = new RegExp(`(?<=^## )I${n}: .*$`, 'm').exec(read('docs/invariants.md')) ?? ['']
    expect(section('docs/invariants.md', heading)).toMatch(/^- `packages\//m)
  })
})

describe('docs/wire-format.md', () => {
  const page = 'docs/wire-format.md'
  const names = [
    keys.unlockChannel('name'),
    keys.tokenKey('name'),
    `${keys.tombstonePrefix('name')}<owner>`,
    keys.probeKey('name'),
    keys.noteKey('name'),
    keys.grantQueueKey('name'),
    ...keys.fairQueueKeys('name'),
    keys.redissonWakeUpChannel(keys.unlockChannel('name'), '<owner>'),
    'turn:<owner>',
    keys.permitsChannel('name'),
    keys.permitTimeouts('name'),
    keys.latchChannel('name'),
    keys.operationsKey('name', '<clientId>'),
    keys.ticksKey('name'),
    keys.termsKey('name'),
    keys.electionChannel('name'),
    keys.keptResultKey('name'),
    keys.runResultKey('name', '<owner>'),
    keys.waitingWriters('name'),
    keys.readWriteChannel('name'),
    `${keys.readTimeouts('name', '<owner>')}:<n>`,
    `${keys.INBOX_PREFIX}<clientId>`,
    keys.reportKeys('<prefix>').clients,
    `${keys.reportKeys('<prefix>').reports}<clientId>`,
    keys.observerChannels('<prefix>').wanted,
    keys.observerChannels('<prefix>').events,
    keys.ownerField('<clientId>', Number.NaN).replace('NaN', '<threadId>'),
  ]

  it('has every name as keys.ts builds it', () => {
    const text = read(page)
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
    const examples = rows(section(page, 'Examples'))
    expect(examples.length).toBeGreaterThan(2)
    for (const [name, ...others] of examples) {
      const tombstone = keys.tombstonePrefix(name!) + keys.ownerField('c~1', 7)
      expect(others).toEqual([keys.unlockChannel(name!), tombstone, keys.tokenKey(name!)])
    }
  })

  it.each(filesBelow('docs').concat('README.md'))('%s has no other key or channel', (file) => {
    const spans = [...read(file).matchAll(/`((?:redisson_|holdfast:)[^`]*)`/g)].map(([, span]) => span!)
    const known = new Set([...names, ...rows(section(page, 'Examples')).flat()])
    const patterns =
      /^(holdfast:|holdfast:\*|holdfast:probe:\*|holdfast:client:\*|redisson_lock__channel:\*|redisson_rwlock:\*|redisson_sc:\*|redisson_countdownlatch__channel__\*|redisson_lock_(queue|timeout|token):\*)$/
    expect(spans.filter((span) => !known.has(span) && !patterns.test(span))).toEqual([])
  })

  it('knows how long a tombstone lives', () => {
    expect(section(page, 'Stamps and tombstones')).toContain(
      `lives for ${spaced(Number(REPLAY_GUARD_TTL_MS))} ms`,
    )
  })

  it('has a part for each script', () => {
    const headings = [...section(page, 'Scripts').matchAll(/^### (\S+)$/gm)].map(([, name]) => name!)
    // Those of the plain lock go by their verb.
    const names = Object.keys(allLuaSources).map((name) => name.replace(/^lock\//, ''))
    expect(sorted(headings)).toEqual(sorted(names))
  })

  it('names exactly the commands that the scripts use', () => {
    const used = called.map((command) => command.toUpperCase())
    const [, listed] = /The scripts use (.*?);/.exec(section(page, 'Permissions')) ?? []
    expect([...(listed ?? '').matchAll(/`(\w+)`/g)].map(([, command]) => command)).toEqual(
      sorted(new Set([...used, 'PUBLISH'])),
    )
  })
})

describe('docs/architecture.md', () => {
  const page = 'docs/architecture.md'
  const source = 'packages/core/src'

  it('begins with the steps of one call, as they are in the code', () => {
    const [, steps = ''] =
      /```ts no-run\nclass Contention<T> \{\n([^]*?)\}\n```/.exec(section(page, 'One call')) ?? []
    expect(steps.split('\n').length).toBeGreaterThan(30)
    expect(read(`${source}/acquire/obtain.ts`)).toContain(steps)
  })

  it('draws every room of core', () => {
    const [, picture = ''] = /```([^]*?)```/.exec(section(page, 'The rooms of core')) ?? []
    const rooms = new Set(
      filesBelow(source).map((file) => file.slice(source.length + 1).replace(/(\.ts|\/.*)$/, '')),
    )
    rooms.delete('index')
    expect([...rooms].filter((room) => !new RegExp(`\\b${room}\\b`).test(picture))).toEqual([])
  })

  it('has at most twelve files in the root of core', () => {
    const root = filesBelow(source).filter((file) => !file.slice(source.length + 1).includes('/'))
    expect(root).toContain(`${source}/lock-client.ts`)
    expect(root.length).toBeLessThanOrEqual(12)
  })

  it('names a reading order of files that are all there', () => {
    const order = [
      ...section(page, 'Reading order of the plain lock').matchAll(/`([\w/-]+\.(?:ts|lua))`/g),
    ].map(([, file]) => file!)
    expect(order.length).toBeGreaterThan(20)
    expect(order.map((file) => read(`${source}/${file}`))).not.toContain('')
  })
})

describe('links', () => {
  const anchors = (file: string): string[] =>
    [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slug(heading!))

  it.each(pages)('links of %s all lead somewhere', (file) => {
    const text = read(file).replaceAll(/^```[^]*?^```/gm, '')
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!)
    const broken = targets.filter((target) => {
      if (/^[a-z]+:/.test(target)) {
        return false
      }
      const [path = '', anchor] = target.split('#')
      const page = path === '' ? file : join(dirname(file), path)
      return !existsSync(join(root, page)) || (anchor !== undefined && !anchors(page).includes(anchor))
    })
    expect(broken).toEqual([])
  })
})

describe('code', () => {
  it.each(pages.filter((file) => codeBlocks(file).length > 0))(
    'code of %s is free of syntax errors',
    (file) => {
      expect(codeBlocks(file).flatMap(syntaxErrorsIn)).toEqual([])
    },
  )

  it('code of the READMEs and the programs of a page fits the types of the package', () => {
    const files = [
      'README.md',
      'packages/core/README.md',
      ...['contexts', 'fenced-lock', 'first-lock', 'redisson-style-api', 'services', 'testing'].map(
        (page) => `docs/${page}.md`,
      ),
      'docs/who-holds-a-lock.md',
    ]
    expect(typeErrorsIn(files.flatMap(programs))).toEqual([])
  })
})

describe('docs/decisions', () => {
  it('each decision has a number of its own, which begins the name of its file and its title', () => {
    const files = filesBelow('docs/decisions')
    const numbers = files.map((file) => /\/(\d{4})-[^/]+\.md$/.exec(file)?.[1])
    expect(numbers).toEqual([...new Set(numbers)])
    expect(files.map((file) => /^# (\d{4}) /.exec(read(file))?.[1])).toEqual(numbers)
  })
})
