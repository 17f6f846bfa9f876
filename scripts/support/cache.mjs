import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** A registry or its client is not there, or has no longer what it had: nothing that a test could judge. */
export class NotAvailable extends Error {}

/** HOLDFAST_CACHE, else the folder `holdfast` of the user's cache. */
export const cacheFolder = () =>
  process.env.HOLDFAST_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'holdfast')

export const exists = (path) =>
  stat(path).then(
    () => true,
    () => false,
  )

/**
 * Makes a folder whole or not at all: another process may look while this one fetches.
 *
 * @param {string} folder
 * @param {(places: { part: string, download: string }) => Promise<void>} make `part`: what will be the folder;
 *   `download`: place for what is not kept
 */
export const makeFolder = async (folder, make) => {
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
