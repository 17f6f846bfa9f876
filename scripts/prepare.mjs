// Prepares what `npm start` and `npm test` need on a machine that has only Node: the dependencies and a build. Does nothing
// twice: installed dependencies are kept, and the build is incremental.
import { existsSync, readFileSync } from 'node:fs'
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

// Also where a checkout needs a tool that an earlier one did not.
const { devDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const needed = ['.package-lock.json', ...Object.keys(devDependencies)]
if (!needed.every((name) => existsSync(`${root}node_modules/${name}`))) {
  run('Installing dependencies ...', 'npm', ['ci', '--no-audit', '--no-fund'])
}
run('Building ...', process.execPath, ['scripts/build.mjs'])
