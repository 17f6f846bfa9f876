import { spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const LIMIT_MS = 240_000
const adapter = (name) => fileURLToPath(new URL(`./adapters/${name}`, import.meta.url))
// The suites lock for a tenth of it, 28,000 years, and redlock hands that to Redis. Holdfast takes 24 days.
const LEASES = { from: 'Number.MAX_SAFE_INTEGER', to: '7000001991' }

/** A run that has failed has said which tests did; one that does not end is killed. */
const outputOf = (program, args, { cwd, env }) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd,
      env: { ...process.env, ...env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const killer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.stderr.resume()
    child.on('error', reject)
    child.on('close', () => {
      clearTimeout(killer)
      resolve(output)
    })
  })

const withMocha = async ({ files }, { run, tools, env }) => {
  const file = join(run, files[0])
  const [result, hook] = [join(run, 'result.json'), adapter('redlock-4.cjs')]
  const reporter = ['--reporter', 'json', '--reporter-option', `output=${result}`]
  const program = join(tools, 'node_modules/mocha/bin/mocha.js')
  const args = ['--exit', '--timeout', '20000', '--require', hook, ...reporter, file]
  await outputOf(program, args, { cwd: run, env: { ...env, HOLDFAST_SUITE_FILE: file } })
  const { passes, failures } = JSON.parse(await readFile(result, 'utf8'))
  const named = (tests, isGreen) => tests.map(({ fullTitle }) => ({ title: fullTitle, isGreen }))
  return [...named(passes, true), ...named(failures, false)]
}

const inPlace = {
  name: 'in place of the library',
  setup(bundle) {
    const external = (path) => () => ({ path, external: true })
    bundle.onResolve({ filter: /^\.\/index(\.js)?$/ }, external(adapter('redlock.mjs')))
    bundle.onResolve({ filter: /^ioredis$/ }, external(adapter('ioredis.mjs')))
    bundle.onResolve({ filter: /^[a-z]/ }, ({ path }) => ({ path, external: true }))
  },
}

const withAva = async ({ files }, { run, tools, env }) => {
  const tests = []
  for (const each of files) {
    const outfile = join(run, basename(each).replace('.ts', '.mjs'))
    const define = { [LEASES.from]: LEASES.to }
    const entryPoints = [join(run, each)]
    const shape = { bundle: true, format: 'esm', platform: 'node', logLevel: 'error' }
    await build({ entryPoints, outfile, define, plugins: [inPlace], ...shape })
    // One file at a time: both empty the servers before they begin.
    const program = join(tools, 'node_modules/ava/entrypoints/cli.mjs')
    const said = await outputOf(program, ['--no-color', '--timeout=60s', basename(outfile)], {
      cwd: run,
      env,
    })
    for (const [, mark, title] of said.matchAll(/^ *(✔|✘ \[fail\]:) (\S+ - .*?)( \([\d.]+m?s\))?$/gm)) {
      tests.push({ title, isGreen: mark === '✔' })
    }
  }
  return tests
}

const withVitest = async ({ files }, { run, tools, env }) => {
  const config = join(run, 'holdfast.config.mjs')
  const alias = [
    { find: /^\.\/index$/, replacement: adapter('redlock.mjs') },
    { find: /^ioredis$/, replacement: adapter('ioredis.mjs') },
  ]
  const aliases = alias.map(
    ({ find, replacement }) => `{ find: ${find}, replacement: ${JSON.stringify(replacement)} }`,
  )
  const shorter = `{ name: 'leases', transform: (code, id) => id.endsWith('.spec.ts') ? code.replaceAll('${LEASES.from}', '${LEASES.to}') : undefined }`
  const text = `export default { root: ${JSON.stringify(run)}, resolve: { alias: [${aliases}] }, plugins: [${shorter}], test: { include: ${JSON.stringify(files)}, testTimeout: 20000, fileParallelism: false } }\n`
  await writeFile(config, text)
  const result = join(run, 'result.json')
  const args = ['run', '--config', config, '--reporter=json', `--outputFile=${result}`]
  await outputOf(join(tools, 'node_modules/vitest/vitest.mjs'), args, { cwd: run, env })
  const { testResults } = JSON.parse(await readFile(result, 'utf8'))
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .map(({ ancestorTitles, title, status }) => ({
      title: [...ancestorTitles, title].join(' '),
      isGreen: status === 'passed',
    }))
}

const RUNNERS = { mocha: withMocha, ava: withAva, vitest: withVitest }

/**
 * Runs a suite in a copy beside the tools, from where its imports are found.
 *
 * @param {import('./catalog.mjs').Suite} suite
 * @param {{ folder: string, tools: string, ports: Record<string, number> }} setting
 * @returns {Promise<{ title: string, isGreen: boolean }[]>}
 */
export const resultsOf = async (suite, { folder, tools, ports }) => {
  const run = await mkdtemp(join(tools, 'run-'))
  try {
    await cp(folder, run, { recursive: true, filter: (path) => basename(path) !== '.git' })
    const env = { HOLDFAST_SUITE_PORTS: JSON.stringify(ports) }
    return await RUNNERS[suite.runner](suite, { run, tools, env })
  } finally {
    await rm(run, { recursive: true, force: true })
  }
}
