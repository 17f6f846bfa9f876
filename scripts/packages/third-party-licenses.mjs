import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const INSTALLED = /^(.*node_modules\/)((?:@[^/]+\/)?[^/]+)\//

/**
 * The licences of the installed packages among the files of a bundle, which must travel with the copy; undefined
 * where there is none. Throws for a package that has no licence file.
 *
 * @param {string} folder what the files are relative to
 * @param {string[]} files
 * @returns {string | undefined}
 */
export const thirdPartyLicenses = (folder, files) => {
  const packages = new Map()
  for (const file of files) {
    const [, above, name] = INSTALLED.exec(file) ?? []
    if (name !== undefined) packages.set(name, join(folder, above, name))
  }
  if (packages.size === 0) return undefined
  const sections = [...packages]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, place]) => `${name}\n\n${licenseIn(name, place).trim()}\n`)
  return `The files of this folder contain these packages.\n\n${sections.join('\n---\n\n')}`
}

const licenseIn = (name, place) => {
  const file = readdirSync(place).find((each) => /^licen[cs]e(\.|$)/i.test(each))
  if (file === undefined) throw new Error(`${name} has no licence file, and cannot be bundled`)
  return readFileSync(join(place, file), 'utf8')
}
