// Runs `npm run version` in a copy: every changeset can be read, and names packages there are.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'holdfast-release-'))
const versionsIn = (folder) =>
  readdirSync(join(folder, 'packages'))
    .map((name) => JSON.parse(readFileSync(join(folder, 'packages', name, 'package.json'), 'utf8')))
    .map(({ name, version }) => `${name}@${version}`)

try {
  const packages = readdirSync(join(ROOT, 'packages')).flatMap((name) =>
    ['package.json', 'CHANGELOG.md'].map((file) => join('packages', name, file)),
  )
  for (const path of ['package.json', 'package-lock.json', '.changeset', ...packages]) {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const changesets = join(ROOT, 'node_modules/@changesets/cli/bin.js')
  const { status } = spawnSync(process.execPath, [changesets, 'version'], { cwd: copy, stdio: 'inherit' })
  console.log(versionsIn(copy).join('\n'))
  process.exitCode = status ?? 1
} finally {
  rmSync(copy, { recursive: true, force: true })
}
