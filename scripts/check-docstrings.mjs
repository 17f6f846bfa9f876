// Checks the form of the docstrings of every published package: what an editor shows beside a call says what it does,
// how long it waits by default and what it throws. Reads the declarations as they are published, so build first.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { declaredIn, docstringFaults } from './packages/docstrings.mjs'
import { entriesOf, publishedPackages } from './packages/published-packages.mjs'

const files = publishedPackages().flatMap((published) =>
  entriesOf(published).map(({ name, file }) => ({
    name,
    path: join(published.folder, `dist/${file}.d.cts`),
  })),
)
const missing = files.find(({ path }) => !existsSync(path))
if (missing) {
  console.error(`${missing.path} is not there: run \`npm run build\`.`)
  process.exit(1)
}

const everywhere = files.map(({ name, path }) => declaredIn(path, name))
const faults = everywhere.flatMap((declared) => docstringFaults(declared, everywhere))
for (const fault of faults) console.error(fault)
if (faults.length > 0) {
  console.error(
    `\n${faults.length} faults of docstrings. What their form is stands in CONTRIBUTING.md, below Style.`,
  )
  process.exit(1)
}
console.log(`docstrings of ${everywhere.length} entries have their form`)
