import { Buffer } from 'node:buffer'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Leaves a file alone that already says so: whoever watches it, or reads it at this moment, is not disturbed.
 *
 * @param {string} file
 * @param {string | Uint8Array} contents
 */
export const writeIfChanged = (file, contents) => {
  const bytes = Buffer.from(contents)
  if (present(file)?.equals(bytes)) return
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
}

const present = (file) => {
  try {
    return readFileSync(file)
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}
