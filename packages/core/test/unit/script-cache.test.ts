import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Places {
  readonly part: string
  readonly download: string
}

const script = new URL('../../../../scripts/support/cache.mjs', import.meta.url).href
const { cachedFolder, fetched, fingerprint, MAVEN_IS_AWAY, NotAvailable, orReason, requireProgram } =
  (await import(script)) as {
    cachedFolder: (path: string, make: (places: Places) => Promise<void>, cache: string) => Promise<string>
    fetched: (what: string, program: string, args: string[], options?: object) => Promise<string>
    fingerprint: (...parts: string[]) => string
    MAVEN_IS_AWAY: RegExp
    NotAvailable: new (message: string) => Error
    orReason: (find: () => Promise<unknown>) => Promise<unknown>
    requireProgram: (what: string, program: string, args: string[]) => Promise<void>
  }

let cache: string
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'holdfast-cache-'))
})
afterEach(() => rm(cache, { recursive: true }))

describe('a folder of the cache', () => {
  it('is made once, and without what was only downloaded', async () => {
    let made = 0
    const make = async ({ part, download }: Places): Promise<void> => {
      made += 1
      await writeFile(join(download, 'tarball'), '')
      await writeFile(join(part, 'kept'), `${made}`)
    }
    const folder = await cachedFolder('suites/one', make, cache)
    expect(await cachedFolder('suites/one', make, cache)).toBe(folder)
    expect(await readdir(folder)).toEqual(['kept'])
    expect(await readFile(join(folder, 'kept'), 'utf8')).toBe('1')
  })

  it('is there whole or not at all: nothing is left of one that could not be made', async () => {
    const make = async ({ part }: Places): Promise<void> => {
      await writeFile(join(part, 'half'), '')
      throw new NotAvailable('the registry is away')
    }
    await expect(cachedFolder('suites/two', make, cache)).rejects.toThrow('the registry is away')
    expect(await readdir(join(cache, 'suites'))).toEqual([])
  })

  it('has the same fingerprint for the same parts, and another for others', () => {
    expect(fingerprint('a', 'b')).toBe(fingerprint('ab'))
    expect(fingerprint('a')).toMatch(/^[0-9a-f]{12}$/)
    expect(fingerprint('a')).not.toBe(fingerprint('b'))
  })
})

/** A client of a registry that fails and says this. */
const failing = (said: string, options?: object): Promise<string> =>
  fetched(
    'the thing',
    process.execPath,
    ['-e', `console.error(${JSON.stringify(said)}); process.exit(1)`],
    options,
  )

describe('what a registry does not give', () => {
  it.each([
    ["Cloning\nfatal: unable to access 'https://github.com/a/b'\nmore", 'fatal: unable to access'],
    [
      'npm error code ENOTFOUND\nnpm error errno ENOTFOUND\nnpm error network request failed\nnpm error A complete log',
      'npm error network request failed',
    ],
    ['WARNING: old\nERROR: No matching distribution\n[notice] new pip', 'ERROR: No matching distribution'],
    ['Reading\nE: Version 1 was not found\n', 'E: Version 1 was not found'],
    ['one\nthe last line', 'the last line'],
  ])('is told with the line in which its client says why: %j', async (said, reason) => {
    await expect(failing(said)).rejects.toThrow(`the thing: ${reason}`)
    await expect(failing(said)).rejects.toBeInstanceOf(NotAvailable)
  })

  it('is no excuse for what does not compile', async () => {
    const options = { whenAway: MAVEN_IS_AWAY }
    await expect(failing('[ERROR] Could not transfer artifact a:b:1', options)).rejects.toBeInstanceOf(
      NotAvailable,
    )
    const mistake = failing('[ERROR] cannot find symbol', options)
    await expect(mistake).rejects.toThrow('cannot find symbol')
    await expect(mistake).rejects.not.toBeInstanceOf(NotAvailable)
  })

  it('is a reason and no error, and so is a program that is missing; anything else stays an error', async () => {
    expect(await orReason(() => Promise.resolve('there'))).toBe('there')
    expect(await orReason(() => requireProgram('Maven', join(cache, 'mvn'), ['-version']))).toEqual({
      reason: 'no Maven on the PATH',
    })
    await expect(orReason(() => Promise.reject(new TypeError('a mistake')))).rejects.toThrow(TypeError)
  })
})
