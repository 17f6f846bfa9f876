import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

type Found = { readonly path: string; readonly version: string } | { readonly reason: string }
interface Package {
  readonly name: string
  readonly version: string
  readonly sha256: string
}
interface Server {
  readonly family: string
  readonly release: string
  readonly version: string
  readonly wheel?: Package
  readonly debian?: { readonly package: Package }
  readonly libraries?: readonly Package[]
}

const script = (path: string): string => new URL(`../../../../scripts/servers/${path}`, import.meta.url).href
const { serverBinary, programPath } = (await import(script('server-binary.mjs'))) as {
  serverBinary: (family: string, release: string, options: { readonly cache: string }) => Promise<Found>
  programPath: (server: Server, cache: string) => string
}
const { SERVERS } = (await import(script('catalog.mjs'))) as { SERVERS: readonly Server[] }

const { PATH } = process.env
// Everywhere else the answer is that there is no program for that machine.
const here = process.platform === 'linux' && process.arch === 'x64'
let cache: string

beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'holdfast-cache-'))
})
afterEach(async () => {
  process.env.PATH = PATH
  await rm(cache, { recursive: true })
})

/** Puts in the cache what says to be that version. */
async function keep(server: Server, version: string): Promise<string> {
  const path = programPath(server, cache)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `#!/bin/sh\necho "Redis server v=${version} sha=0"\n`)
  await chmod(path, 0o755)
  return path
}

describe('the catalogue of servers', () => {
  it('pins every package by version and hash, and names each server once', () => {
    for (const { wheel, debian, libraries = [] } of SERVERS) {
      const packages = [wheel ?? debian?.package, ...libraries]
      for (const each of packages) {
        expect(each).toMatchObject({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
        expect(each?.version).toMatch(/^\d/)
      }
    }
    expect(new Set(SERVERS.map(({ family, release }) => `${family} ${release}`)).size).toBe(SERVERS.length)
  })

  it('refuses a server that it has not, and names those that it has', async () => {
    await expect(serverBinary('redis', '5', { cache })).rejects.toThrow(
      /^serverBinary knows valkey 9, .*redis 6\.2, not 'redis 5'$/,
    )
  })
})

describe('the program of a server', () => {
  it.each(SERVERS)('$family $release: is taken from the cache, and nothing is fetched', async (server) => {
    const path = await keep(server, server.version)
    // pip and apt-get would be found nowhere.
    process.env.PATH = ''
    expect(await serverBinary(server.family, server.release, { cache })).toEqual(
      here ? { path, version: server.version } : { reason: expect.stringContaining('linux x64 only') },
    )
  })

  it.each(SERVERS)(
    '$family $release: without the client of its registry, the reason is said',
    async (server) => {
      process.env.PATH = cache
      const found = await serverBinary(server.family, server.release, { cache })
      expect(found).toEqual({
        reason: expect.stringMatching(
          here ? /(python3 with pip is|apt-get and dpkg are) needed/ : /linux x64 only/,
        ),
      })
      expect(await readdir(cache, { recursive: true })).toEqual(here ? ['servers'] : [])
    },
  )

  it('the program of a server that says another version than it must is not run', async () => {
    const [server] = SERVERS as [Server]
    await keep(server, '1.2.3')
    expect(await serverBinary(server.family, server.release, { cache })).toEqual({
      reason: expect.stringContaining(
        here ? `it says version 1.2.3, not ${server.version}` : 'linux x64 only',
      ),
    })
  })
})
