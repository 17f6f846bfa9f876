// Lua into TypeScript, TypeScript into build, that into the bundles of dist.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import './embed-lua.mjs'
import { bundle } from './packages/bundle.mjs'
import { copyLicense } from './packages/copy-license.mjs'
import { publishedPackages } from './packages/published-packages.mjs'
import { pruneOrphans } from './packages/prune-orphans.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

const published = publishedPackages()
for (const each of published) pruneOrphans(each.folder)
const { status } = spawnSync(process.execPath, [tsc, '-b'], { cwd: root, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
for (const each of published) {
  await bundle(each)
  copyLicense(each.folder)
}
