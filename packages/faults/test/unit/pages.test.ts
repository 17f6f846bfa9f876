import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { SCENARIOS } from '../../src/scenarios/index.js'

const page = readFileSync(new URL('../../../../docs/reliability.md', import.meta.url), 'utf8')

describe('docs/reliability.md', () => {
  it.each(SCENARIOS)('has the long form of $name, and when it was measured', ({ name, long }) => {
    const behind = page.split(`npm run faults -- ${name} ${long}`.trim()).slice(1)
    // Figures of another page are of the commit that it names.
    const isMeasured = (text: string): boolean =>
      /\b[Aa]t `[0-9a-f]{7}`|[Ss]ee \[/.test(text.split(/^##/m)[0]!)
    expect(behind.filter(isMeasured)).not.toEqual([])
  })
})
