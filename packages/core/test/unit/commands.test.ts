import { describe, expect, it } from '@jest/globals'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pages, read, root } from '../redis/support/markdown.js'

interface Run {
  readonly smoke?: string
  readonly step?: string
  readonly test?: string
}

// Not a string of its own: whoever compiles this has no types of it.
const list = new URL('../../../../scripts/smokes/commands.mjs', import.meta.url).href
const { COMMANDS, SCRIPTS, SCENARIOS_RUN_ELSEWHERE } = (await import(list)) as Record<
  'COMMANDS' | 'SCRIPTS' | 'SCENARIOS_RUN_ELSEWHERE',
  Record<string, Run>
>
const faults = new URL('../../../faults/build/scenarios/index.js', import.meta.url).href
const { SCENARIOS } = (await import(faults)) as { SCENARIOS: { name: string }[] }

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
/** Lines that do something. A failing step before it does not keep any from being run. */
const steps = read('.ci/run')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => /^ *(step|together|concerns|besides\+?=)/.test(line))

// Decisions tell of what was measured once; their commands need not be there any more.
const current = pages.filter((page) => !/^docs\/decisions\/|CHANGELOG|^\.changeset/.test(page))
const commandsIn = (page: string): string[] =>
  [...read(page).matchAll(/\bnpm (?:run ([\w:-]*\w)|(test|start)\b)/g)].map(([, run, short]) => run ?? short!)
const scriptsIn = (page: string): string[] =>
  [...read(page).matchAll(/\bnode ((?:scripts|packages)\/[\w/-]+\.mjs)/g)].map(([, script]) => script!)
const named = [...new Set(current.flatMap(commandsIn))].sort()
const runs = { ...COMMANDS, ...SCRIPTS }
const scriptOf = (command: string): string =>
  /(?:scripts|packages|examples)\/[\w/-]+\.mjs(?=[^&]*$)/.exec(scripts[command] ?? '')?.[0] ?? ''

describe('the commands that pages name', () => {
  it('are there', () => {
    expect(named.length).toBeGreaterThan(15)
    expect(named.filter((name) => !(name in scripts))).toEqual([])
    expect(current.flatMap(scriptsIn).filter((file) => !existsSync(join(root, file)))).toEqual([])
  })

  it('are each run by CI, in some form', () => {
    expect(named.filter((name) => !(name in COMMANDS))).toEqual([])
    const files = Object.values(scripts).flatMap((script) => script.split(' '))
    const alone = [...new Set(current.flatMap(scriptsIn))].filter((file) => !files.includes(file))
    expect(alone.filter((file) => !(file in SCRIPTS))).toEqual([])
  })

  it('are run as the list says', () => {
    expect(Object.keys(COMMANDS).filter((name) => !(name in scripts))).toEqual([])
    expect(steps.some((line) => line.includes('scripts/smokes.mjs'))).toBe(true)
    const wrong = Object.entries(runs).filter(([name, { smoke, step, test }]) => {
      if (smoke) return !existsSync(join(root, smoke.split(' ')[0]!))
      if (step) return !steps.some((line) => line.includes(step))
      return !test || !read(test).includes(scriptOf(name).replace('scripts/', ''))
    })
    expect(wrong.map(([name]) => name)).toEqual([])
  })

  it('are each the script that their smoke runs', () => {
    const others = Object.entries(COMMANDS).filter(
      ([name, { smoke }]) => smoke !== undefined && !smoke.startsWith(scriptOf(name)),
    )
    expect(others.map(([name]) => name)).toEqual([])
  })
})

// On pages about one kind of lock. Those of docs/reliability.md are a test of packages/faults.
const MEASURING =
  /npm run (test:(?!torture|planted|unit|fleets|clients)[\w-]+|faults -- (?!torture)[\w -]+|bench:\w+)`/
const MEASURED = /(measured|Measured|cores|seed|rounds|times each|No failure)/

describe('the fault programs that pages name', () => {
  const scenarios = SCENARIOS.map(({ name }) => name)
  const namedIn = (page: string): string[] =>
    [...read(page).matchAll(/npm run faults -- (?!SCENARIO|NAME|--)([\w-]+)/g)].map(([, name]) => name!)

  it('are there', () => {
    expect(scenarios.filter((name) => !current.flatMap(namedIn).includes(name))).toEqual([])
    expect(current.flatMap(namedIn).filter((name) => !scenarios.includes(name))).toEqual([])
  })

  it('are each run by CI: as a smoke, or as the list says', () => {
    expect(Object.keys(SCENARIOS_RUN_ELSEWHERE).filter((name) => !scenarios.includes(name))).toEqual([])
    const wrong = Object.entries(SCENARIOS_RUN_ELSEWHERE).filter(([name, { step, test }]) =>
      step
        ? !steps.some((line) => line.includes(step))
        : !test || !new RegExp(`faults\\.mjs'|faults ${name}`).test(read(test)) || !read(test).includes(name),
    )
    expect(wrong.map(([name]) => name)).toEqual([])
  })
})

describe('figures', () => {
  it('figures of the programs that break and measure name the commit they are of', () => {
    const elsewhere = current
      .filter((page) => page.startsWith('docs/'))
      .flatMap((page) => read(page).split(/\n\n/))
      .filter(
        (text) => !text.startsWith('|') && MEASURING.test(text) && MEASURED.test(text) && /\d{2}/.test(text),
      )
    expect(elsewhere.length).toBeGreaterThan(5)
    expect(elsewhere.filter((text) => !/\b[Aa]t `[0-9a-f]{7}`/.test(text))).toEqual([])
  })
})
