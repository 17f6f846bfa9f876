// Writes packages/core/src/scripts/lua-sources.ts from the .lua files beside it, so that neither a bundler
// nor a published package has to find files at run time. `--check` only compares, for CI and a test.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../packages/core/src/scripts/', import.meta.url))
const target = join(folder, 'lua-sources.ts')

const names = readdirSync(folder, { recursive: true })
  .filter((file) => file.endsWith('.lua'))
  .map((file) =>
    relative(folder, join(folder, file))
      .split(sep)
      .join('/')
      .replace(/\.lua$/, ''),
  )
  .sort()

const literal = (text) =>
  '`' + text.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${') + '`'
const entries = names.map(
  (name) => `  '${name}': ${literal(readFileSync(join(folder, `${name}.lua`), 'utf8'))},`,
)
const text = `// Generated from the .lua files by scripts/embed-lua.mjs. Do not edit.\nexport const luaSources = {\n${entries.join('\n')}\n} as const\n`

const present = readdirSync(folder).includes('lua-sources.ts') ? readFileSync(target, 'utf8') : ''
if (process.argv.includes('--check')) {
  if (present !== text) {
    console.error('lua-sources.ts is stale: run `npm run build`.')
    process.exit(1)
  }
} else if (present !== text) {
  writeFileSync(target, text)
}
