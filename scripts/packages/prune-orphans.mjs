import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { filesBelow } from './files-below.mjs'

/**
 * Removes what earlier builds made of sources that are gone: tsc never does.
 *
 * @param {string} folder
 */
export const pruneOrphans = (folder) => {
  const sources = new Set(filesBelow(join(folder, 'src')).map((file) => file.replace(/\.ts$/, '')))
  for (const file of filesBelow(join(folder, 'build'))) {
    const origin = file.replace(/(\.d\.ts|\.js)$/, '')
    if (!sources.has(origin) && !file.endsWith('.tsbuildinfo')) rmSync(join(folder, 'build', file))
  }
}
