import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeIfChanged } from './write-if-changed.mjs'

const LICENSE = fileURLToPath(new URL('../../LICENSE', import.meta.url))

/**
 * npm packs the LICENSE of the package's own folder only; the copy is not committed.
 *
 * @param {string} folder
 */
export const copyLicense = (folder) => writeIfChanged(join(folder, 'LICENSE'), readFileSync(LICENSE))
