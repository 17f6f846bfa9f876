// What `npm start` and `npm test` need on a machine that has only Node: the dependencies and a build. Does nothing
// twice: installed dependencies are kept, and the build is incremental.
import { existsSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Holdfast needs Node 20.19 or newer; this is ${process.versions.node}.`)
  process.exit(1)
}

function run(what, command, args) {
  console.log(what)
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (error || status !== 0) {
    console.error(`Failed: ${command} ${args.join(' ')}${error ? ` (${error.message})` : ''}`)
    process.exit(status || 1)
  }
}

if (!existsSync(`${root}node_modules/.package-lock.json`)) {
  run('Installing dependencies ...', 'npm', ['ci', '--no-audit', '--no-fund'])
}
run('Building ...', process.execPath, ['scripts/build.mjs'])
