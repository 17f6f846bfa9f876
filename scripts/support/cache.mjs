import { createHash, randomBytes } from 'node:crypto'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { run, works } from '../redis/run.mjs'
import { attempts, PATIENCE } from './attempts.mjs'

const LIMIT_MS = 120_000
/** How git, npm, apt-get, pip and Maven begin the line of an error; npm's first ones only have its code. */
const REASON = /^(fatal:|npm error (?!code |errno |syscall |A complete log)|E:|ERROR:|\[ERROR\])/

/** Maven's messages when it could not fetch something: `whenAway` of `fetched`. */
export const MAVEN_IS_AWAY = /Could not (transfer|resolve|find) (artifact|dependencies)/

/** A registry or its client is not there, or has no longer what it had: nothing that a test could judge. */
export class NotAvailable extends Error {}

/**
 * What cannot be had here is a reason, and not an error.
 *
 * @template Found
 * @param {() => Promise<Found>} find
 * @returns {Promise<Found | { reason: string }>}
 */
export const orReason = async (find) => {
  try {
    return await find()
  } catch (error) {
    if (error instanceof NotAvailable) return { reason: error.message }
    throw error
  }
}

/** @throws {NotAvailable} on another machine than those for which the registries' programs are taken */
export const requireLinuxX64 = () => {
  const { platform, arch } = process
  if (platform !== 'linux' || arch !== 'x64') {
    throw new NotAvailable(`there is a program for linux x64 only, and this is ${platform} ${arch}`)
  }
}

/**
 * @param {string} what is needed, for the reason @param {string} program @param {string[]} args with which it answers
 * @throws {NotAvailable} the program is not on the PATH, or does not answer
 */
export const requireProgram = async (what, program, args) => {
  if (!(await works(program, args))) throw new NotAvailable(`no ${what} on the PATH`)
}

/**
 * Runs the client of a registry, for at most two minutes.
 *
 * @param {string} what is fetched, for the reason
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string>, limitMs?: number, whenAway?: RegExp }} [options] `whenAway`:
 *   what it says when the registry is away, if it also builds what it has fetched: any other failure is a mistake in
 *   what is built
 * @returns {Promise<string>} what it wrote
 * @throws {NotAvailable} with the line in which the client says why
 */
export const fetched = async (what, program, args, { whenAway = /^/, env, ...options } = {}) => {
  try {
    return await run(program, args, { limitMs: LIMIT_MS, env: { ...PATIENCE, ...env }, ...options })
  } catch (error) {
    if (!error.isLate && !whenAway.test(error.message)) throw error
    // Maven colours what it says though nobody sees it.
    const text = stripVTControlCharacters(error.message).trim()
    const lines = text.split('\n').map((line) => line.trim())
    const why = lines.find((line) => REASON.test(line)) ?? lines.at(-1)
    throw new NotAvailable(`${what}: ${why}`, { cause: error })
  }
}

/** HOLDFAST_CACHE, else the folder `holdfast` of the user's cache. */
export const cacheFolder = () =>
  process.env.HOLDFAST_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'holdfast')

export const exists = (path) =>
  stat(path).then(
    () => true,
    () => false,
  )

/**
 * Makes a folder whole or not at all: another process may look while this one fetches. What a registry does not give it
 * asks for once more, with nothing left of the first time.
 *
 * @param {string} folder
 * @param {(places: { part: string, download: string }) => Promise<void>} make `part`: what will be the folder;
 *   `download`: place for what is not kept
 */
export const makeFolder = (folder, make) =>
  attempts(() => madeOnce(folder, make), {
    // Two attempts. What keeps the limit is `fetched`.
    limitsMs: [LIMIT_MS, LIMIT_MS],
    isTriedAgain: (error) => error instanceof NotAvailable,
  })

const madeOnce = async (folder, make) => {
  const part = `${folder}.${randomBytes(4).toString('hex')}`
  const download = join(part, 'download')
  await mkdir(download, { recursive: true })
  try {
    await make({ part, download })
    await rm(download, { recursive: true })
    await rename(part, folder).catch(async (error) => {
      // Another process was first.
      if (!(await exists(folder))) throw error
    })
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

/**
 * A folder of the cache, made when it is not there yet.
 *
 * @param {string} path in the cache: its name has the version, or the hash, of what it is made of
 * @param {Parameters<typeof makeFolder>[1]} make
 * @param {string} [cache]
 * @returns {Promise<string>} where it is
 */
export const cachedFolder = async (path, make, cache = cacheFolder()) => {
  const folder = join(cache, path)
  if (!(await exists(folder))) await makeFolder(folder, make)
  return folder
}

/** The beginning of a hash, for the name of such a folder. @param {...(string | Buffer)} parts */
export const fingerprint = (...parts) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex').slice(0, 12)
}
