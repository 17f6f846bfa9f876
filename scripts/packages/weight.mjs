import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { median } from '../median.mjs'

/**
 * The cost of a package for its users, in bytes and files: what it weighed at the last look, and 2 to 3 % more. Each entry is
 * four files, each skill one. Decision 0036 says what core consists of, and what the 250,000 packed, 72,000 gzipped and 25 files would
 * take that were wanted.
 */
export const LIMITS = {
  '@holdfast/core': { packed: 366_000, unpacked: 1_350_000, files: 44, gzipped: 116_000 },
  '@holdfast/waiter': { packed: 21_400, unpacked: 70_500, files: 8 },
  '@holdfast/watchdog': { packed: 23_200, unpacked: 77_200, files: 8 },
  '@holdfast/nestjs': { packed: 12_600, unpacked: 49_500, files: 8 },
  '@holdfast/bullmq': { packed: 6_350, unpacked: 20_000, files: 8 },
  '@holdfast/otel': { packed: 11_700, unpacked: 54_100, files: 8 },
  '@holdfast/board': { packed: 55_800, unpacked: 155_000, files: 8 },
  '@holdfast/redlock': { packed: 22_300, unpacked: 77_000, files: 14 },
  '@holdfast/redis-semaphore': { packed: 6_100, unpacked: 19_800, files: 8 },
  '@holdfast/testing': { packed: 83_000, unpacked: 276_500, files: 8 },
  '@holdfast/cli': { packed: 54_600, unpacked: 166_500, files: 15 },
  '@holdfast/fence': { packed: 30_000, unpacked: 100_000, files: 51 },
  holdfast: { packed: 3_000, unpacked: 6_200, files: 9 },
}

/**
 * The size that everything an entry exports adds to a user's own bundle: minified, gzipped, peers left out.
 *
 * @param {string} folder of a project that has the package
 * @param {string} entry
 */
export const gzippedSize = async (folder, entry) => {
  const [, name] = /^((?:@[^/]+\/)?[^/]+)/.exec(entry)
  const { peerDependencies } = JSON.parse(
    readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'),
  )
  const { outputFiles } = await build({
    stdin: { contents: `export * from '${entry}'`, resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: Object.keys(peerDependencies),
    write: false,
    logLevel: 'warning',
  })
  return gzipSync(outputFiles[0].contents).length
}

const PRINT_CPU =
  'const { user, system } = process.cpuUsage(); process.stdout.write(String((user + system) / 1_000))'

/**
 * Starts Node once for each package and way, in turns, so that what else the machine does is shared by all.
 *
 * @param {string} folder of a project that has the packages
 * @param {string[]} packages
 * @param {{ rounds: number, node: string }} options
 * @returns medians in milliseconds, those of packages above those of a bare Node
 */
export const loadTimes = (folder, packages, { rounds, node }) => {
  const ways = {
    import: (name) => ['--input-type=module', '-e', `${name ? `await import('${name}')` : ''};${PRINT_CPU}`],
    require: (name) => ['-e', `${name ? `require('${name}')` : ''};${PRINT_CPU}`],
  }
  const cases = Object.entries(ways).flatMap(([way, argsFor]) =>
    ['', ...packages].map((name) => ({ way, name, args: argsFor(name), wall: [], cpu: [] })),
  )
  // The first round fills the cache of the file system, and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    for (const each of cases) {
      const { wall, cpu } = startOnce(node, each.args, folder)
      if (round === 0) continue
      each.wall.push(wall)
      each.cpu.push(cpu)
    }
  }
  return cases.map(({ way, name, wall, cpu }) => {
    const bare = cases.find((each) => each.way === way && each.name === '')
    const above = (kind) => (name ? median(bare[kind]) : 0)
    return { way, name, wall: median(wall) - above('wall'), cpu: median(cpu) - above('cpu') }
  })
}

const startOnce = (node, args, cwd) => {
  const startedAt = performance.now()
  const { status, stdout, stderr } = spawnSync(node, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${node} ${args.join(' ')}\n${stderr}`)
  return { wall: performance.now() - startedAt, cpu: Number(stdout) }
}
