import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, loadavg, release, type } from 'node:os'
import { dirname, join } from 'node:path'

const { resolve } = createRequire(import.meta.url)

/** Facts of the machine on which a figure depends. */
export const machineFacts = () => ({
  node: process.version,
  ioredis: versionOf('ioredis'),
  // Without what a distribution or a host adds to it.
  system: `${type()} ${/^\d+\.\d+/.exec(release())?.[0] ?? release()}`,
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cpus: availableParallelism(),
})

/** Load average of the last minute. */
export const load = () => Number(loadavg()[0].toFixed(2))

/**
 * Version of an installed package, whether or not it exports its package.json.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
export const versionOf = (name) => {
  try {
    for (let folder = dirname(resolve(name)); folder !== dirname(folder); folder = dirname(folder)) {
      // One that is installed under another name has its own in its manifest.
      const found = folder.endsWith(join('node_modules', name)) || manifest(folder)?.name === name
      if (found) return manifest(folder)?.version.replace(/^v/, '')
    }
  } catch {
    // It is not installed, or not for this Node: whoever loads it says why.
  }
  return undefined
}

const manifest = (folder) => {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}
