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

  it.each([
    ['', 'end(): void;', 'Lock.end: has no docstring'],
    ['', '/** @throws Error */ end(): void;', 'Lock.end: has no first line that says what the call does'],
    ['', '/** Ends it */ end(): void;', 'Lock.end: the first line ends without a full stop: "Ends it"'],
    [
      '',
      '/** The end of it. */ end(): void;',
      'Lock.end: the first line does not begin with what the call does, as in "Waits until …": "The end of it."',
    ],
    [
      '',
      '/** As `begin` does it. */ end(): void;',
      'Lock.end: the first line does not begin with what the call does, as in "Waits until …": "As `begin` does it."',
    ],
    [
      '',
      `/** Ends ${'very '.repeat(40)}late. */ end(): void;`,
      expect.stringMatching(/^Lock\.end: the first line has 210 characters, more than 160: /),
    ],
    [
      '',
      '/** Waits for it. @throws LostError */ acquire(limits: Limits): Promise<void>;',
      'Lock.acquire: does not say how long it waits by default',
    ],
    [
      '',
      '/** Gets it. @throws LostError */ tryLock(waitMs?: number): Promise<void>;',
      'Lock.tryLock: does not say how long it waits by default',
    ],
    [
      '',
      '/** Ends it. */ end(): Promise<void>;',
      'Lock.end: does not say what it rejects with: @throws, or "Never rejects."',
    ],
    [
      '',
      '/** Ends it. Throws LostError without it. */ end(): void;',
      'Lock.end: says "Throws LostError" in its text: that is a @throws',
    ],
    [
      '',
      '/** Ends it. @throws GoneError */ end(): void;',
      'Lock.end: @throws GoneError, which is no error of ours',
    ],
    [
      '',
      '/** Ends it. @param when at once */ end(late: boolean): void;',
      'Lock.end: has a @param of when, which is no parameter',
    ],
    [
      '',
      '/** Ends it, as `Lock.finish`. */ end(): void;',
      'Lock.end: mentions Lock.finish, which is not there',
    ],
    ['export { bare }; declare function bare(): void;', '', 'bare: has no docstring'],
  ])('%s%s: what is wrong is said', (around, members, fault) => {
    expect(faultsOf(members, around)).toEqual([fault])
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
