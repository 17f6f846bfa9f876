import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { command } from './command.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const isOurs = (name) => name === 'holdfast' || name.startsWith('@holdfast/')
const packageFiles = (root, file) =>
  readdirSync(join(root, 'packages'))
    .map((name) => join('packages', name, file))
    .filter((path) => existsSync(join(root, path)))

/** Writes into each manifest which version of a sibling it needs. */
const needSiblings = (root, kinds, versionOf) => {
  for (const path of packageFiles(root, 'package.json')) {
    const manifest = JSON.parse(readFileSync(join(root, path), 'utf8'))
    for (const kind of kinds) {
      const siblings = Object.keys(manifest[kind] ?? {}).filter(isOurs)
      for (const name of siblings) manifest[kind][name] = versionOf(name)
    }
    writeFileSync(join(root, path), `${JSON.stringify(manifest, null, 2)}\n`)
  }
}

/**
 * Turns changesets into versions and changelogs. Each package needs its siblings in one exact version, its own. For
 * changesets, a new version of such a peer is a major change: while it runs, peers may have any version.
 *
 * @param {string} root of the repository, or of a copy
 * @param {AbortSignal} signal
 */
export const makeVersions = async (root, signal) => {
  needSiblings(root, ['peerDependencies'], () => '*')
  const changesets = join(ROOT, 'node_modules/@changesets/cli/bin.js')
  await command(process.execPath, [changesets, 'version'], { cwd: root, signal })
  const versions = new Map(
    packageFiles(root, 'package.json')
      .map((path) => JSON.parse(readFileSync(join(root, path), 'utf8')))
      .map(({ name, version }) => [name, version]),
  )
  needSiblings(root, ['dependencies', 'peerDependencies'], (name) => versions.get(name))
}

/**
 * Makes the next versions in a copy of what they are made of.
 *
 * @param {string} folder made here
 * @param {AbortSignal} signal
 */
export const makeVersionsIn = async (folder, signal) => {
  const own = ['package.json', 'CHANGELOG.md'].flatMap((file) => packageFiles(ROOT, file))
  for (const path of ['package.json', '.changeset', ...own]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await makeVersions(folder, signal)
}
