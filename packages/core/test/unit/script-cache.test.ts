import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Places {
  readonly part: string
  readonly download: string
}

const scriptOf = (path: string): string => new URL(`../../../../scripts/${path}`, import.meta.url).href
const { cachedFolder, fetched, fingerprint, MAVEN_IS_AWAY, NotAvailable, orReason, requireProgram } =
  (await import(scriptOf('support/cache.mjs'))) as {
    cachedFolder: (path: string, make: (places: Places) => Promise<void>, cache: string) => Promise<string>
    fetched: (what: string, program: string, args: string[], options?: object) => Promise<string>
    fingerprint: (...parts: string[]) => string
    MAVEN_IS_AWAY: RegExp
    NotAvailable: new (message: string) => Error
    orReason: (find: () => Promise<unknown>) => Promise<unknown>
    requireProgram: (what: string, program: string, args: string[]) => Promise<void>
  }

interface Attempts {
  readonly limitsMs: number[]
  readonly signal?: AbortSignal
}
const { attempts } = (await import(scriptOf('support/attempts.mjs'))) as {
  attempts: <Result>(attempt: (limitMs: number) => Promise<Result>, options: Attempts) => Promise<Result>
}
const { run } = (await import(scriptOf('redis/run.mjs'))) as {
  run: (program: string, args: string[], options: { limitMs: number }) => Promise<string>
}

/** Lines about attempts that failed, in place of the console. */
let said: string[]
let cache: string
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'holdfast-cache-'))
  said = []
  jest.spyOn(console, 'error').mockImplementation((line: string) => void said.push(line))
})
afterEach(async () => {
  jest.restoreAllMocks()
  await rm(cache, { recursive: true })
})

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

  it('is made once more, from nothing, when a registry breaks off the first time', async () => {
    const found: string[][] = []
    const make = async ({ part }: Places): Promise<void> => {
      found.push(await readdir(part))
      await writeFile(join(part, `half of ${found.length}`), '')
      if (found.length === 1) throw new NotAvailable('it broke off')
    }
    expect(await readdir(await cachedFolder('suites/three', make, cache))).toEqual(['half of 2'])
    expect(found).toEqual([['download'], ['download']])
    expect(said).toEqual(['tried again: it broke off'])
  })

  it('is not made once more after a mistake', async () => {
    let made = 0
    const make = (): Promise<void> => Promise.reject(new TypeError(`mistake ${(made += 1)}`))
    await expect(cachedFolder('suites/four', make, cache)).rejects.toThrow('mistake 1')
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
    ['\u001B[0m\u001B[0m[ERROR] Could not transfer\n[ERROR] more', '[ERROR] Could not transfer'],
    ['one\nthe last line', 'the last line'],
    ['', `${process.execPath} -e console.error(""); process.exit(1) failed (code 1)`],
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

  it('is no mistake in what would be built when its client says nothing until its limit', async () => {
    const silent = ['-e', 'setInterval(() => {}, 1e6)']
    const build = fetched('the thing', process.execPath, silent, { whenAway: MAVEN_IS_AWAY, limitMs: 1 })
    await expect(build).rejects.toThrow('failed (killed at its limit of 0.001 s)')
    await expect(build).rejects.toBeInstanceOf(NotAvailable)
  })

  it('is a reason and no error, and so is a program that is missing; anything else stays an error', async () => {
    expect(await orReason(() => Promise.resolve('there'))).toBe('there')
    expect(await orReason(() => requireProgram('Maven', join(cache, 'mvn'), ['-version']))).toEqual({
      reason: 'no Maven on the PATH',
    })
    await expect(orReason(() => Promise.reject(new TypeError('a mistake')))).rejects.toThrow(TypeError)
  })
})

/** A program that writes its last argument, or, with `hangs`, never ends. */
const program = (limitMs: number, word: string): Promise<string> =>
  run(process.execPath, ['-e', "process.argv[1] === 'hangs' ? setInterval(() => {}, 1e6) : console.log(process.argv[1])", word], { limitMs }) // prettier-ignore

describe('what a registry may break off', () => {
  it('is tried again when it reaches its limit, each time with more time', async () => {
    const limits: number[] = []
    const attempt = (limitMs: number): Promise<string> => {
      limits.push(limitMs)
      return program(limitMs, limits.length < 3 ? 'hangs' : 'installed')
    }
    expect(await attempts(attempt, { limitsMs: [1, 2, 100_000] })).toBe('installed\n')
    expect(limits).toEqual([1, 2, 100_000])
    expect(said).toEqual([
      expect.stringContaining('failed (killed at its limit of 0.001 s)'),
      expect.stringContaining('failed (killed at its limit of 0.002 s)'),
    ])
  })

  it('fails with what the last attempt said', async () => {
    let begun = 0
    const attempt = (): Promise<never> => Promise.reject(new Error(`attempt ${(begun += 1)}`))
    await expect(attempts(attempt, { limitsMs: [1, 1, 1] })).rejects.toThrow('attempt 3')
  })

  it('is not tried again after an interruption', async () => {
    const interruption = new AbortController()
    let begun = 0
    const attempt = (): Promise<never> => {
      interruption.abort()
      return Promise.reject(new Error(`attempt ${(begun += 1)}`))
    }
    await expect(attempts(attempt, { limitsMs: [1, 1], signal: interruption.signal })).rejects.toThrow(
      'attempt 1',
    )
  })

  it('ends at its limit though a process that it started holds its output', async () => {
    const error: Error = await run('sh', ['-c', 'sleep 1000 & echo $!; wait'], { limitMs: 200 }).then(
      () => new Error('it ended by itself'),
      (reason: unknown) => reason as Error,
    )
    const [, pid] = /\n(\d+)$/.exec(error.message) ?? []
    if (pid !== undefined) process.kill(Number(pid))
    expect(error.message).toContain('its limit of 0.2 s')
  })
})
