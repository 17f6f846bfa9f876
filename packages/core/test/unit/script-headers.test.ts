import { describe, expect, it } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inBatches, luaSources } from '../../src/redis/lua-sources.js'
import { allLuaSources } from '../redis/support/all-lua-sources.js'

const src = fileURLToPath(new URL('../../src/', import.meta.url))
const embedLua = fileURLToPath(new URL('../../../../scripts/embed-lua.mjs', import.meta.url))
const files = readdirSync(src, { recursive: true }).map(String)
const parts = files.filter((file) => file.endsWith('.part.lua'))
const scripts = files.filter((file) => file.endsWith('.lua') && !parts.includes(file))
const modules = files.filter((file) => file.endsWith('.ts'))
const read = (file: string): string => readFileSync(src + file, 'utf8')

/** Positions of KEYS or ARGV: single ones, and the first of a list that has no end. */
interface Positions {
  readonly single: number[]
  readonly listFrom: number | null
}

interface Header {
  readonly purpose: string
  /** By label, continuation lines joined. */
  readonly sections: Map<string, string>
}

/** `-- verb: purpose`, then `-- LABEL text` whose continuation lines are indented. */
function headerOf(lua: string): Header {
  const [first = '', ...rest] = lua.split('\n').map((line) => line.trimEnd())
  const lines = rest.slice(
    0,
    rest.findIndex((line) => !line.startsWith('--')),
  )
  const sections = new Map<string, string>()
  let label = ''
  for (const line of lines) {
    const [, found, text = ''] = /^-- ([A-Z]{4,}) +(.*)$/.exec(line) ?? []
    if (found !== undefined) {
      label = found
      sections.set(label, text)
    } else if (/^-- {5,}\S/.test(line)) {
      sections.set(label, `${sections.get(label) ?? ''} ${line.slice(2).trim()}`)
    }
  }
  return { purpose: first, sections }
}

function declared(section: string): Positions {
  const marks = [...section.matchAll(/\[(\d+)(\.\.)?\]/g)]
  const list = marks.find(([, , dots]) => dots !== undefined)
  return {
    single: marks.filter(([, , dots]) => dots === undefined).map(([, n]) => Number(n)),
    listFrom: list ? Number(list[1]) : null,
  }
}

/** A list is read by `ipairs`, by `unpack` or from a computed position: `ARGV[i + 1]` begins at 2. */
function used(code: string, table: 'KEYS' | 'ARGV' | 'argv'): Positions {
  const single = [...code.matchAll(new RegExp(`${table}\\[(\\d+)\\]`, 'g'))].map(([, n]) => Number(n))
  const from = new RegExp(`${table}\\[[a-z]\\w*(?: \\+ (\\d+))?\\]`, 'g')
  const computed = [...code.matchAll(from)]
  const whole = new RegExp(`(?:ipairs|unpack)\\(${table}\\)`).test(code)
  const [position] = computed
  const listFrom = whole ? 1 : position ? 1 + Number(position[1] ?? 0) : null
  return { single: [...new Set(single)].sort((a, b) => a - b), listFrom }
}

/** The arguments that it reads by itself, and those that `take` reads of ARGV, which every acquire of a lock begins with. */
function usedWithParts(lua: string, table: 'KEYS' | 'ARGV'): Positions {
  const { single, listFrom } = used(codeOf(lua), table)
  const isHandedOn = table === 'ARGV' && codeOf(lua).includes('take(KEYS[1], KEYS[2], ARGV,')
  const ofTake = isHandedOn ? used(codeOf(readLua('lock/take.part')), 'argv').single : []
  return { single: [...new Set([...single, ...ofTake])].sort((a, b) => a - b), listFrom }
}

function codeOf(lua: string): string {
  return lua.replaceAll(/--.*$/gm, '')
}

/** Both modes of a read-write lock are one object. */
function moduleOf(script: string): string {
  return script.startsWith('entries/')
    ? `${dirname(script)}/scripts.ts`
    : `${dirname(script).replace(/(read|write)-lock$/, 'read-write-lock')}.ts`
}

/** The name of a script or a part: that of its file below `scripts`, or beside its entry. */
function nameOf(file: string): string {
  return file.replace(/^(?:scripts|entries)\/(.*?)\.lua$/, '$1')
}

/** The parts that a text inserts itself. */
function insertsOf(name: string): string[] {
  return [...readLua(name).matchAll(/^ *-- insert (\S+)$/gm)].map(([, part]) => part!)
}

function readLua(name: string): string {
  return read(files.find((file) => file.endsWith('.lua') && nameOf(file) === name) ?? name)
}

describe.each(scripts)('%s', (file) => {
  const lua = read(file)
  const verb = basename(file, '.lua')
  const { purpose, sections } = headerOf(lua)

  it('says its purpose, KEYS, ARGV, RETURNS and RETRY, in that order', () => {
    expect(purpose).toMatch(new RegExp(`^-- ${verb}: \\S.*\\.$`))
    expect([...sections.keys()]).toEqual(['KEYS', 'ARGV', 'RETURNS', 'RETRY'])
    for (const text of sections.values()) {
      expect(text).toMatch(/\S/)
    }
    expect(sections.get('RETRY')).toMatch(/^(safe|unsafe): /)
  })

  it.each(['KEYS', 'ARGV'] as const)('reads what it declares of %s, and declares what it reads', (table) => {
    expect(usedWithParts(lua, table)).toEqual(declared(sections.get(table) ?? ''))
  })

  it('touches no key that is not passed as KEYS', () => {
    const calls = [
      ...codeOf(lua).matchAll(/(?:redis\.p?call\(\s*'(\w+)',\s*|\b(?:touch|numberAt|isFree)\()([^,)]+)/g),
    ]
    const keyed = calls.filter(([, command]) => !/^(s?publish|pubsub)$/.test(command ?? ''))
    expect(keyed.length).toBeGreaterThan(0)
    for (const [, , key] of keyed) {
      expect(key).toMatch(/^(KEYS\[(\d+|i|#KEYS)\]|key|timeout)( \.\. .*)?$/)
    }
  })

  it('inserts parts outside of blocks, so that what needs them comes last', () => {
    let depth = 0
    for (const line of lua.split('\n')) {
      if (/^ *-- insert (?!batch\/)/.test(line)) {
        expect([line, depth]).toEqual([line, 0])
      }
      const words: string[] = codeOf(line).match(/\b(?:then|do|function|elseif|end)\b/g) ?? []
      for (const word of words) {
        depth += word === 'end' || word === 'elseif' ? -1 : 1
      }
    }
    expect(depth).toBe(0)
  })

  it('has at most 80 lines', () => {
    expect(lua.trimEnd().split('\n').length).toBeLessThanOrEqual(80)
  })

  it('belongs to the module of its object, the only one that runs it', () => {
    // The batch is how transitions travel, and no transition.
    const own = file === 'scripts/batch.lua' ? 'redis/batch.ts' : moduleOf(file)
    const name = nameOf(file)
    const isDefinition = new RegExp(`define(?:Script\\(|EntryScript\\(\\s*\\w+,)\\s*'${name}',`)
    expect(modules.filter((module) => isDefinition.test(read(module)))).toEqual([own])
  })
})

describe.each(parts)('%s', (file) => {
  const lua = read(file)

  it('says its purpose, and is a part of some script', () => {
    const verb = basename(file, '.part.lua')
    expect(headerOf(lua).purpose).toMatch(new RegExp(`^-- ${verb}: \\S.*\\.$`))
    const name = nameOf(file).replace(/\.part$/, '')
    const users = [...scripts, ...parts].filter((each) => read(each).includes(`-- insert ${name}\n`))
    expect(users.length).toBeGreaterThan(0)
  })

  it('touches no key but those that it is given', () => {
    const keyed = [...codeOf(lua).matchAll(/redis\.p?call\('(\w+)',\s*([^,)]+)/g)].filter(
      ([, command]) => !/^(pub|info)/.test(command ?? ''),
    )
    for (const [, , key] of keyed) {
      expect(key).toMatch(
        /^(q\.(list|scores|arrivals|heartbeats)|writers|lock|tombstone|queue|key|operation\.key|counter|permits\.(counter|timeouts))$/,
      )
    }
  })
})

describe('scripts and sources', () => {
  it('there are scripts to look at', () => {
    expect(scripts.length).toBeGreaterThanOrEqual(5)
  })

  it('the header check sees what is missing, and the notation of lists', () => {
    expect(used(codeOf("redis.call('get', KEYS[2]) -- KEYS[1]"), 'KEYS')).toEqual({
      single: [2],
      listFrom: null,
    })
    expect(declared('[1] lease   [2..] owners')).toEqual({ single: [1], listFrom: 2 })
    expect(used('for i, key in ipairs(KEYS) do x(ARGV[i + 1], ARGV[1]) end', 'ARGV')).toEqual({
      single: [1],
      listFrom: 2,
    })
  })

  it('a batch has each part once, and the transitions that travel in batches', () => {
    const lines = luaSources.batch.split('\n')
    const transitions = [...luaSources.batch.matchAll(/^\['([\w/-]+)'\] = \w+,$/gm)].map(([, name]) => name!)
    expect(transitions).toContain('lock/acquire')
    expect(transitions.sort()).toEqual([...inBatches].sort())
    const partsOf = (name: string): string[] =>
      insertsOf(`${name}.part`).flatMap((part) => [...partsOf(part), part])
    const inBatch = new Set(
      inBatches.flatMap((name) => insertsOf(name)).flatMap((part) => [...partsOf(part), part]),
    )
    expect(inBatch).toContain('touch')
    for (const part of inBatch) {
      for (const [line] of readLua(`${part}.part`).matchAll(/^local function .*$/gm)) {
        expect([line, lines.filter((each) => each === line).length]).toEqual([line, 1])
      }
    }
  })

  it.each(Object.entries(allLuaSources).filter(([name]) => name !== 'batch'))(
    '%s is sent as its file says, below each part that it inserts, once',
    (name, sent) => {
      const statements = (lua: string): string[] =>
        codeOf(lua)
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '')
      const inserted = new Set<string>()
      const look = (text: string): string[] =>
        text.split('\n').flatMap((line) => {
          const [, part] = /^ *-- insert (\S+)$/.exec(line) ?? []
          if (part === undefined) return statements(line)
          if (inserted.has(part)) return []
          inserted.add(part)
          return look(readLua(`${part}.part`))
        })
      expect(sent.split('\n')[0]).toBe(`-- Holdfast: ${name}`)
      expect(statements(sent)).toEqual(look(readLua(name)))
    },
  )

  it('every script is sent by core or by one entry', () => {
    expect(Object.keys(allLuaSources).sort()).toEqual(scripts.map(nameOf).sort())
  })

  it('lua-sources.ts equals the .lua files', () => {
    const check = spawnSync(process.execPath, [embedLua, '--check'], { encoding: 'utf8' })
    expect(check.stderr).toBe('')
    expect(check.status).toBe(0)
  })

  it.each(modules.filter((file) => !file.endsWith('lua-sources.ts')))('%s has no Lua in it', (file) => {
    expect(read(file)).not.toMatch(/redis\.p?call|\bKEYS\[|\bARGV\[/)
  })

  it.each(files.filter((file) => /\.(ts|lua)$/.test(file) && file !== 'keys.ts'))(
    '%s builds no key or channel name',
    (file) => {
      expect(read(file)).not.toMatch(/redisson_|rwlock_timeout|holdfast:/)
    },
  )
})
