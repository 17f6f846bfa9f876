// Compares the public API of every entry of the published packages with the report of it in etc/, which is committed
// so that a change of the API is seen in review. `--write` updates the reports.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiReport, lostInRollUp } from './packages/api-report.mjs'
import { lineDiff } from './packages/line-diff.mjs'
import { entriesOf, publishedPackages } from './packages/published-packages.mjs'
import { writeIfChanged } from './packages/write-if-changed.mjs'

const folder = fileURLToPath(new URL('../etc/', import.meta.url))
const build = fileURLToPath(new URL('build.mjs', import.meta.url))
const isWriting = process.argv.includes('--write')

const built = spawnSync(process.execPath, [build], { stdio: 'inherit' })
if (built.status !== 0) process.exit(built.status ?? 1)

const all = publishedPackages()
const reports = new Map()
let stale = 0
for (const each of all) {
  for (const entry of entriesOf(each)) {
    reports.set(
      `${entry.name.replace(/^@/, '').replaceAll('/', '-')}.api.md`,
      await apiReport(each, entry, all),
    )
    const lost = lostInRollUp(each, entry, all)
    if (lost === '') continue
    stale += 1
    console.error(`${entry.name}: the published declarations say something else:\n${lost}\n`)
  }
}

mkdirSync(folder, { recursive: true })
for (const [file, report] of reports) {
  const path = join(folder, file)
  if (isWriting) {
    writeIfChanged(path, report)
    continue
  }
  const committed = existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n') : ''
  if (committed === report) continue
  stale += 1
  console.error(`etc/${file} is stale:\n${lineDiff(committed, report)}\n`)
}
for (const file of readdirSync(folder).filter((each) => each.endsWith('.api.md') && !reports.has(each))) {
  if (isWriting) rmSync(join(folder, file))
  else {
    stale += 1
    console.error(`etc/${file} is the report of no published package.\n`)
  }
}

if (stale > 0) {
  console.error('If the change is meant, run `npm run check:api -- --write` and commit etc/.')
  process.exit(1)
}
console.log(`${reports.size} API reports ${isWriting ? 'written' : 'up to date'}`)
