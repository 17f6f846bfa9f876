// Lua into TypeScript, TypeScript into build, that into the bundles of dist.
import { fileURLToPath } from 'node:url'
import './embed-lua.mjs'
import { makeBoardPage } from '../packages/board/build-page.mjs'
import { bundle } from './packages/bundle.mjs'
import { isBundled, noteBundled } from './packages/bundled-before.mjs'
import { publishedPackages } from './packages/published-packages.mjs'
import { pruneOrphans } from './packages/prune-orphans.mjs'
import { tsc } from './tsc.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

const published = publishedPackages()
for (const each of published) pruneOrphans(each.folder)
await makeBoardPage()
const status = tsc('-b', root)
if (status !== 0) process.exit(status)
if (!isBundled(published)) {
  for (const each of published) await bundle(each)
  noteBundled(published)
}
