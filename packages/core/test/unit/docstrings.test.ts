import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Declared {
  readonly place: string
}

const module = fileURLToPath(new URL('../../../../scripts/packages/docstrings.mjs', import.meta.url))
const { declaredIn, docstringFaults } = (await import(module)) as {
  declaredIn: (file: string, place: string) => Declared
  docstringFaults: (declared: Declared, everywhere: readonly Declared[]) => string[]
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-docstrings-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The faults of a class of an API, whose members these are. */
function faultsOf(members: string, around = ''): string[] {
  const file = join(folder, 'index.d.cts')
  const text = `${around}
    /** An error. */
    declare class LostError extends Error { constructor(message: string); }
    /** How to wait. */
    interface Limits { waitMs?: number; }
    /** A lock. */
    declare class Lock {
      private readonly hidden;
      ${members}
    }
    export { Lock, LostError };
    export type { Limits };`
  // A comment on the line of what stands before it would be no docstring.
  writeFileSync(file, text.replaceAll('/**', '\n/**'))
  const declared = declaredIn(file, 'test')
  return docstringFaults(declared, [declared]).map((fault) => fault.replace(/^test: /, ''))
}

describe('docstrings of the API', () => {
  it('have their form', () => {
    const acquire = `/** Waits until it is held, by default without a limit. @throws LostError it was lost
     * @param limits when to give up */
     acquire(limits?: Limits): Promise<void>;`
    const rest = `/** Its name. */ get name(): string;
      /** Ends it, see \`Lock.acquire\`. Never rejects. */ end(): Promise<void>;`
    expect(faultsOf(`${acquire}\n${rest}`)).toEqual([])
  })

  const NO_VERB = 'the first line does not begin with what the call does, as in "Waits until …"'
  const NO_DEFAULT = 'does not say how long it waits by default'
  it.each([
    ['end(): void;', 'has no docstring'],
    ['/** @throws Error */ end(): void;', 'has no first line that says what the call does'],
    ['/** Ends it */ end(): void;', 'the first line ends without a full stop: "Ends it"'],
    ['/** The end of it. */ end(): void;', `${NO_VERB}: "The end of it."`],
    ['/** As `begin` does it. */ end(): void;', `${NO_VERB}: "As \`begin\` does it."`],
    [
      `/** Ends ${'very '.repeat(40)}late. */ end(): void;`,
      `the first line has 210 characters, more than 160: "Ends ${'very '.repeat(40)}late."`,
    ],
    ['/** Ends it. @throws LostError */ end(limits: Limits): Promise<void>;', NO_DEFAULT],
    ['/** Ends it. @throws LostError */ end(waitMs?: number): Promise<void>;', NO_DEFAULT],
    [
      '/** Ends it. */ end(): Promise<void>;',
      'does not say what it rejects with: @throws, or "Never rejects."',
    ],
    [
      '/** Ends it. Throws LostError without it. */ end(): void;',
      'says "Throws LostError" in its text: that is a @throws',
    ],
    ['/** Ends it. @throws GoneError */ end(): void;', '@throws GoneError, which is no error of ours'],
    [
      '/** Ends it. @param when at once */ end(late: boolean): void;',
      'has a @param of when, which is no parameter',
    ],
    ['/** Ends it, as `Lock.finish`. */ end(): void;', 'mentions Lock.finish, which is not there'],
  ])('%s: what is wrong is said', (member, fault) => {
    expect(faultsOf(member)).toEqual([`Lock.end: ${fault}`])
  })

  it('are asked of functions, too', () => {
    const bare = 'export { bare }; declare function bare(): void;'
    expect(faultsOf('', bare)).toEqual(['bare: has no docstring'])
  })

  it('are those of what is overridden, and of the first overload', () => {
    const base = '/** What all have. */ interface Base { /** Ends it. */ end(): void; }'
    expect(faultsOf('/** Begins it. */ begin(): void; begin(late: boolean): void;', base)).toEqual([])
    const inherited = `${base}
      /** A part. */
      declare class Part implements Base { end(): void; }
      export { Part };`
    expect(faultsOf('', inherited)).toEqual([])
  })

  it('may say of all calls of a type at once what they reject with', () => {
    const all = `/** Looks. Every method rejects with LostError. */
      interface Observer {
        /** Reads it. */ look(): Promise<void>;
      }
      export type { Observer };`
    expect(faultsOf('', all)).toEqual([])
    expect(faultsOf('', all.replace('Every', 'No'))).toHaveLength(1)
  })

  it('are not asked of what is private, not exported, or made by others', () => {
    const others = `interface Hidden { go(): void; }
      /** The part of a client used here. */ interface Client { go(): void; } export type { Client };`
    expect(faultsOf('', others)).toEqual([])
  })
})
