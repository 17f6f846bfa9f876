import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const checkProse = fileURLToPath(new URL('../../../../scripts/check-prose.mjs', import.meta.url))
const TERMS =
  'A waiter of ioredis, a lockWatchdogTimeout of 5 s, and livelock. B waits for A, and A is refused.'
const NAME_OF_A_TEST = '- `packages/core/test/unit/hold.test.ts`: recieves %s %s'
const LONG = `It is late${' and later'.repeat(32)}.`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-prose-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The findings of a page: the line and the rule of each mistake. */
function mistakesOn(lines: readonly string[]): Promise<string[]> {
  const page = join(folder, 'page.md')
  writeFileSync(page, lines.join('\n\n'))
  return new Promise((resolve) => {
    execFile(process.execPath, [checkProse, page], (_error, _stdout, stderr) => {
      resolve(
        [...stderr.matchAll(/page\.md:(\d+): .* \[(\w+)\]/g)].map(([, line, rule]) => `${line} ${rule}`),
      )
    })
  })
}

describe('the prose of the pages', () => {
  it('is checked for mistakes, and not for terms, names and what stands in code', async () => {
    const page = [
      'The lock recieves a message.', // 1
      TERMS,
      'A holder holds the the lock.', // 5
      NAME_OF_A_TEST,
      'It waits for a answer.', // 9
      '`recieves a a answer` is code.',
      LONG, // 13
      'It could of been later, except of Mondays.', // 15
    ]
    expect(await mistakesOn(page)).toEqual([
      '1 SpellCheck',
      '5 RepeatedWords',
      '9 AnA',
      '13 LongSentences',
      '15 ModalOf',
      '15 ExceptOf',
    ])
  }, 180_000)
})
