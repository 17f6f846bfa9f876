// Measures what the packages weigh as users get them, and how long they take to load beside redis-semaphore.
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'
import { interruption } from '../interruption.mjs'
import { command } from './command.mjs'
import { Project, asInstalledHere } from './project.mjs'
import { entriesOf, publishedPackages } from './published-packages.mjs'
import { packAll } from './tarballs.mjs'
import { gzippedSize, loadTimes } from './weight.mjs'
import { table } from '../table.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PEER = 'redis-semaphore'
const USAGE = `Usage: npm run measure:packages -- [options]

  --rounds N   how often each is loaded   (11)
  --node PATH  the Node that loads        (this one)
  --help`
const signal = interruption()

const kilobytes = (bytes) => `${(bytes / 1_000).toFixed(1)} kB`

const sizes = async (packed, project) => {
  const rows = [['', 'packed', 'unpacked', 'files']]
  for (const { name, size, unpackedSize, contents } of packed) {
    rows.push([name, kilobytes(size), kilobytes(unpackedSize), String(contents.length)])
  }
  const core = publishedPackages().find(({ name }) => name === '@holdfast/core')
  const gzipped = [['minified and gzipped, without peers', '']]
  for (const { name } of entriesOf(core)) {
    gzipped.push([name, kilobytes(await gzippedSize(project.folder, name))])
  }
  return [...table(rows), '', ...table(gzipped)]
}

const times = (project, { rounds, node }) => {
  const results = loadTimes(project.folder, ['@holdfast/core', '@holdfast/core/http', PEER], { rounds, node })
  const rows = [['ms, medians', 'wall', 'CPU', `wall, in ${PEER}s`, 'CPU']]
  for (const { way, name, wall, cpu } of results) {
    const peer = results.find((each) => each.way === way && each.name === PEER)
    const ratios = name ? [wall / peer.wall, cpu / peer.cpu] : []
    const figures = [wall, cpu].map((ms) => ms.toFixed(1))
    const what = name ? `${way} ${name}, above that` : `Node, to ${way} nothing`
    rows.push([what, ...figures, ...['', ''].map((none, i) => ratios[i]?.toFixed(2) ?? none)])
  }
  return table(rows)
}

const measure = async (options) => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-weight-')))
  try {
    await command(process.execPath, ['scripts/build.mjs'], { cwd: ROOT, signal })
    await mkdir(join(folder, 'tarballs'))
    const packed = await packAll(join(folder, 'tarballs'), signal)
    const project = new Project(join(folder, 'user'), { signal, redisUrl: '', type: 'module' })
    const own = packed.filter(({ name }) => /core|waiter|watchdog/.test(name)).map(({ file }) => file)
    await project.install(['--omit=peer', ...own, asInstalledHere(PEER)])
    console.log([...(await sizes(packed, project)), '', ...times(project, options)].join('\n'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

try {
  const text = { type: 'string' }
  const options = { rounds: text, node: text, help: { type: 'boolean', default: false } }
  const { rounds = '11', node = process.execPath, help } = parseOptions(process.argv.slice(2), options)
  if (help) console.log(USAGE)
  else await measure({ rounds: wholeNumber('rounds', rounds, 1_000), node })
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error.message)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
