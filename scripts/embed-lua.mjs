// Writes the modules with the scripts. `--check` only compares, for CI and a test.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { luaModules } from './lua-sources.mjs'

for (const [path, text] of luaModules()) {
  const file = fileURLToPath(new URL(`../packages/${path}`, import.meta.url))
  const present = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (present === text) continue
  if (process.argv.includes('--check')) {
    console.error(`${path} is stale: run \`npm run build\`.`)
    process.exit(1)
  }
  writeFileSync(file, text)
}
