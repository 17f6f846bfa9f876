import { execFile } from 'node:child_process'
import { mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { git, ROOT } from './checkout.js'

const CACHE = join(ROOT, '.cache/cores')
const PACKAGES = ['core', 'waiter', 'watchdog']
/** Those of this tree: what a commit's core is given is a connection, whatever the client. */
const CLIENTS = ['ioredis', 'iovalkey', 'redis', '@redis/client']

/** The history of this checkout does not have the commit, or there is none at all. */
export class MissingHistoryError extends Error {
  constructor(ref: string, options: ErrorOptions) {
    super(`this checkout does not have the commit '${ref}'`, options)
    this.name = 'MissingHistoryError'
  }
}

/** The full name of a commit. @throws MissingHistoryError */
export const commitOf = async (ref: string): Promise<string> => {
  try {
    return await git('rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`)
  } catch (cause) {
    throw new MissingHistoryError(ref, { cause })
  }
}

/** The commit of the latest release that this one descends from; undefined: nothing has been released. */
export const lastRelease = (): Promise<string | undefined> =>
  git('describe', '--tags', '--abbrev=0', '--match', '@holdfast/core@*').catch(() => undefined)

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  )

/** `@holdfast/core` as it was at a commit: one module, built once for each commit. @returns its file */
export const coreAt = async (commit: string): Promise<string> => {
  const file = join(CACHE, `${commit}.mjs`)
  if (await exists(file)) return file
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-core-'))
  try {
    const archive = join(folder, 'sources.tar')
    await git('archive', '--output', archive, commit, ...PACKAGES.map((name) => `packages/${name}/src`))
    await promisify(execFile)('tar', ['-x', '-f', archive, '-C', folder])
    const [core, ...others] = PACKAGES.map((name) => join(folder, 'packages', name, 'src/index.ts'))
    // Two programs that build it at the same time write two files; the later one takes the place of the other.
    const built = `${file}.${process.pid}.mjs`
    await build({
      entryPoints: [core as string],
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      outfile: built,
      alias: Object.fromEntries(others.map((source, i) => [`@holdfast/${PACKAGES[i + 1]}`, source])),
      external: CLIENTS,
      nodePaths: [join(ROOT, 'node_modules')],
      tsconfigRaw: {},
      logLevel: 'error',
    })
    await rename(built, file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return file
}
