import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { commandOf, pageOf, PublicationError, withFigures } from '../../src/run/publication.js'
import { SCENARIOS } from '../../src/scenarios/index.js'

const read = (page: string): string => readFileSync(new URL(`../../../../${page}`, import.meta.url), 'utf8')
const measured = {
  commit: 'abcdef0',
  command: 'one --seed 3',
  date: '2026-11-23',
  seconds: 1_203,
  on: 'Redis 7.0.15, Node 20.20.2',
}
const page = [
  '# Title',
  '<!-- figures of one -->',
  'old',
  '<!-- /figures -->',
  'between',
  '<!-- figures of two -->',
  'others',
  '<!-- /figures -->',
].join('\n')

describe('figures of scenarios', () => {
  it('take the place of those that the scenario had, and say what they are of', () => {
    const report = ['a line', '', '| a | b |', '| - | - |', '| 1 | 2 |', '', 'another']
    expect(withFigures(page, 'one', report, measured).split('\n')).toEqual([
      '# Title',
      '<!-- figures of one -->',
      '',
      '`npm run faults -- one --seed 3` (at `abcdef0`, 2026-11-23, 20 min, Redis 7.0.15, Node 20.20.2):',
      '',
      '- a line',
      '',
      '| a | b |',
      '| - | - |',
      '| 1 | 2 |',
      '',
      '- another',
      '',
      '<!-- /figures -->',
      'between',
      '<!-- figures of two -->',
      'others',
      '<!-- /figures -->',
    ])
  })

  it('need a place', () => {
    expect(() => withFigures(page, 'three', [], measured)).toThrow(PublicationError)
    expect(() => withFigures('<!-- figures of one -->', 'one', [], measured)).toThrow(/figures of one/)
  })

  it('name the command that repeats the run, with its seed', () => {
    const args = ['pauses', '--rounds', '2', '--history', 'file', '--json', '--write-docs']
    expect(commandOf(args, 1)).toBe('pauses --rounds 2 --seed 1')
    expect(commandOf(['pauses', '--seed', '4', '--history=file'], 4)).toBe('pauses --seed 4')
  })

  it.each(SCENARIOS.map((each) => ({ name: each.name, long: each.long, page: pageOf(each) })))(
    'of $name have a place in $page, below its long form',
    ({ name, long, page }) => {
      const text = read(page)
      expect(text.split(`<!-- figures of ${name} -->`)).toHaveLength(2)
      expect(text).toContain(`npm run faults -- ${name} ${long}`.trim())
      const [, place = ''] = text.split(`<!-- figures of ${name} -->`)
      const figures = place.slice(0, place.indexOf('<!-- /figures -->'))
      // Figures of another page are of the commit that it names.
      expect(figures).toMatch(/\bat `[0-9a-f]{7}`|see \[|See \[|Not measured yet\./i)
    },
  )
})
