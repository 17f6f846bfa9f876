import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { filesBelow } from './files-below.mjs'
import { writeIfChanged } from './write-if-changed.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NOTE = join(ROOT, 'build/bundled')

/**
 * The bundles, and all they are made of: what the compiler wrote, what bundles it, and the versions of what is inside.
 *
 * @param {import('./published-packages.mjs').PublishedPackage[]} published
 */
const digestOf = (published) => {
  const digest = createHash('sha256')
  const add = (folder, files) => {
    for (const file of files) digest.update(`${folder}/${file}\0`).update(readFileSync(join(folder, file)))
  }
  add(ROOT, ['package-lock.json'])
  const own = join(ROOT, 'scripts/packages')
  add(own, filesBelow(own))
  for (const { folder } of published) {
    add(folder, ['package.json'])
    add(
      join(folder, 'build'),
      filesBelow(join(folder, 'build')).filter((file) => !file.endsWith('.tsbuildinfo')),
    )
    add(join(folder, 'dist'), filesBelow(join(folder, 'dist')))
  }
  return digest.digest('hex')
}

/** Whether the bundles are as `noteBundled` left them, and would be the same again: most builds find nothing new. */
export const isBundled = (published) => existsSync(NOTE) && readFileSync(NOTE, 'utf8') === digestOf(published)

export const noteBundled = (published) => writeIfChanged(NOTE, digestOf(published))
