import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { checkInstallScripts } from './check-contents.mjs'
import { Project, asInstalledHere } from './project.mjs'
import { LIMITS, gzippedSize, loadTimes } from './weight.mjs'

const README = fileURLToPath(new URL('../../README.md', import.meta.url))
const EXPECTED = 'Ann: bought it, Bob: sold out'

/**
 * @typedef {object} Setting
 * @property {string} folder for the projects
 * @property {string[]} tarballs of what needs no framework
 * @property {(name: string) => string} forFramework the tarball of one that needs a framework
 * @property {string} redisUrl
 * @property {AbortSignal} signal
 * @property {import('./report.mjs').Report} report
 */

/** @param {Setting} setting */
export const checkEsmProject = async (setting) => {
  const { report, tarballs, forFramework } = setting
  const project = new Project(join(setting.folder, 'esm'), { ...setting, type: 'module' })
  project.take('quickstart.mts', 'quickstart.mjs')
  project.take('both-copies.mjs')
  const install = () =>
    project.install([
      ...tarballs,
      forFramework('@holdfast/cli'),
      ...['ioredis', 'redis'].map(asInstalledHere),
    ])
  if (!(await report.check('ESM project: npm install, with both clients', install))) return
  await report.check('ESM project: quickstart', () => prints(project, 'quickstart.mjs'))
  await report.check("ESM project: the README's quickstart", () => {
    project.write('readme.mjs', quickstartOfReadme(setting.redisUrl))
    return project.node('readme.mjs')
  })
  await report.check('ESM project: ESM and CommonJS in one process share contexts', () =>
    project.node('both-copies.mjs'),
  )
  await report.check('ESM project: nothing installed has an install script', () =>
    checkInstallScripts(project.folder),
  )
}

/** @param {Setting} setting */
export const checkCommonJsProject = async (setting) => {
  const { report, tarballs } = setting
  const project = new Project(join(setting.folder, 'cjs'), setting)
  project.take('quickstart.cjs', 'quickstart.js')
  project.take('quickstart.test.ts')
  project.write('jest.config.js', "module.exports = { preset: 'ts-jest' }\n")
  const tools = ['ioredis', 'jest', 'ts-jest', 'typescript'].map(asInstalledHere)
  const install = () => project.install([...tarballs, ...tools])
  if (!(await report.check('CommonJS project: npm install, with jest and ts-jest', install))) return
  await report.check('CommonJS project: quickstart', () => prints(project, 'quickstart.js'))
  await report.check("CommonJS project: quickstart in Jest, preset 'ts-jest' and nothing else", () =>
    // With what CI leaves it of the processors, a connection takes longer than the five seconds that Jest waits.
    project.node('node_modules/jest/bin/jest.js', '--ci', '--testTimeout=120000'),
  )
}

/** @param {Setting} setting */
export const checkNodeNextProject = async (setting) => {
  const { report, tarballs } = setting
  const project = new Project(join(setting.folder, 'nodenext'), { ...setting, type: 'module' })
  for (const file of ['quickstart.mts', 'quickstart.cts', 'redlock.mts']) project.take(file)
  project.take('redlock.mts', 'redlock.cts')
  project.write('tsconfig.json', tsconfig({ types: ['node'] }))
  const tools = ['ioredis', '@types/node'].map(asInstalledHere)
  const install = () => project.install([...tarballs, ...tools])
  if (!(await report.check('nodenext project: npm install', install))) return
  const compiles = await report.check('nodenext project: compiles, strict, without skipLibCheck', () =>
    project.tsc(),
  )
  if (!compiles) return
  await report.check('nodenext project: quickstart.mts', () => prints(project, 'out/quickstart.mjs'))
  await report.check('nodenext project: quickstart.cts', () => prints(project, 'out/quickstart.cjs'))
}

/** @param {Setting} setting */
export const checkNodeRedisProject = async (setting) => {
  const { report, tarballs } = setting
  const project = new Project(join(setting.folder, 'node-redis'), { ...setting, type: 'module' })
  project.take('quickstart.mts', 'quickstart.mjs')
  project.take('quickstart.cjs')
  project.take('node-redis.mts')
  project.write('tsconfig.json', tsconfig({ types: ['node'] }))
  const tools = ['redis', '@types/node'].map(asInstalledHere)
  const install = () => project.install([...tarballs, ...tools])
  if (!(await report.check('project with node-redis alone: npm install', install))) return
  await report.check('project with node-redis alone: ioredis is not there', () =>
    assert.equal(existsSync(join(project.folder, 'node_modules/ioredis')), false),
  )
  for (const file of ['quickstart.mjs', 'quickstart.cjs']) {
    await report.check(`project with node-redis alone: ${file}`, () => prints(project, file))
  }
  for (const contents of ["export * from '@holdfast/core'", "require('@holdfast/core')"]) {
    await report.check(`project with node-redis alone: esbuild bundles ${contents}`, () =>
      build({
        stdin: { contents, resolveDir: project.folder },
        ...{ bundle: true, platform: 'node', write: false, logLevel: 'silent' },
      }),
    )
  }
  const compiles = await report.check('project with node-redis alone: compiles, strict', () => project.tsc())
  if (compiles) {
    await report.check('project with node-redis alone: a client of its own', () =>
      prints(project, 'out/node-redis.mjs'),
    )
  }
}

/**
 * How long it takes is printed: on a busy machine it says little.
 *
 * @param {Setting} setting
 */
export const checkWeight = async (setting) => {
  const { report, tarballs } = setting
  const [core, peer] = ['@holdfast/core', 'redis-semaphore']
  const project = new Project(join(setting.folder, 'weight'), { ...setting, type: 'module' })
  const install = () => project.install(['--omit=peer', ...tarballs, asInstalledHere(peer)])
  if (!(await report.check(`project with ${peer}: npm install, without a client`, install))) return
  await report.check(`${core}: what it adds to a bundle`, async () => {
    const gzipped = await gzippedSize(project.folder, core)
    assert.ok(gzipped <= LIMITS[core].gzipped, `${gzipped} bytes, more than ${LIMITS[core].gzipped}`)
  })
  await report.check(`${core}: loads`, () => {
    const times = loadTimes(project.folder, [core, peer], { rounds: 5, node: process.execPath })
    for (const { way, name, wall } of times.filter((each) => each.name)) {
      console.log(`        ${way} ${name}: ${wall.toFixed(1)} ms above Node`)
    }
  })
}

/** @param {Setting} setting */
export const checkTypesAlone = async (setting) => {
  const { report, tarballs } = setting
  const project = new Project(join(setting.folder, 'types'), { ...setting, type: 'module' })
  project.take('types-only.mts')
  project.take('types-only.mts', 'types-only.cts')
  project.write('tsconfig.json', tsconfig({ types: [], declaration: true }))
  const install = () => project.install(['--omit=peer', ...tarballs])
  if (!(await report.check('project without a client: npm install', install))) return
  await report.check('project without a client and @types/node: types compile', () => project.tsc())
  project.take('without-client.mjs')
  await report.check('project without a client: a URL is refused, with what to install', () =>
    project.node('without-client.mjs'),
  )
}

/** @param {Setting} setting */
export const checkNestProjects = async (setting) => {
  const { report, tarballs, forFramework } = setting
  const check = async (folder, { type, version, as }) => {
    const project = new Project(join(setting.folder, folder), { ...setting, type })
    project.take('nest.ts', as)
    const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true }
    // Those of Nest itself do not all pass.
    project.write('tsconfig.json', tsconfig({ types: ['node'], ...decorators, skipLibCheck: true }))
    const nest = ['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@${version}`)
    const tools = ['ioredis', '@types/node', 'rxjs', 'reflect-metadata'].map(asInstalledHere)
    const install = () => project.install([...tarballs, forFramework('@holdfast/nestjs'), ...nest, ...tools])
    const what = `Nest ${version}, ${type === 'module' ? 'ESM' : 'CommonJS'}`
    if (!(await report.check(`${what}: npm install`, install))) return
    if (!(await report.check(`${what}: compiles, strict`, () => project.tsc()))) return
    const program = `out/${as.replace(/ts$/, 'js')}`
    await report.check(`${what}: an application`, async () =>
      assert.match(await project.node(program), /paid 7 under the lock order:7$/),
    )
  }
  await check('nest-12', { type: 'module', version: 12, as: 'nest.mts' })
  await check('nest-12-cjs', { type: 'commonjs', version: 12, as: 'nest.cts' })
  await check('nest-11-cjs', { type: 'commonjs', version: 11, as: 'nest.cts' })
}

/** @param {Setting} setting */
export const checkBullmqProjects = async (setting) => {
  const { report, tarballs, forFramework } = setting
  const check = async (folder, { type, version, as }) => {
    const project = new Project(join(setting.folder, folder), { ...setting, type })
    project.take('queue.ts', as)
    // Those of BullMQ itself do not all pass.
    project.write('tsconfig.json', tsconfig({ types: ['node'], skipLibCheck: true }))
    const tools = ['ioredis', '@types/node'].map(asInstalledHere)
    const install = () =>
      project.install([...tarballs, forFramework('@holdfast/bullmq'), `bullmq@${version}`, ...tools])
    const what = `BullMQ ${version}, ${type === 'module' ? 'ESM' : 'CommonJS'}`
    if (!(await report.check(`${what}: npm install`, install))) return
    if (!(await report.check(`${what}: compiles, strict`, () => project.tsc()))) return
    await report.check(`${what}: a job`, async () =>
      assert.equal(await project.node(`out/${as.replace(/ts$/, 'js')}`), 'the job held order:7'),
    )
  }
  await check('bullmq-6', { type: 'module', version: 6, as: 'queue.mts' })
  await check('bullmq-5-cjs', { type: 'commonjs', version: 5, as: 'queue.cts' })
}

/** @param {Setting} setting */
export const checkOtelProjects = async (setting) => {
  const { report, tarballs, forFramework } = setting
  const check = async (folder, { type, as }) => {
    const project = new Project(join(setting.folder, folder), { ...setting, type })
    project.take('telemetry.ts', as)
    project.write('tsconfig.json', tsconfig({ types: ['node'] }))
    const sdk = ['api', 'sdk-metrics', 'exporter-prometheus'].map((name) => `@opentelemetry/${name}`)
    const tools = [...sdk, 'ioredis', '@types/node'].map(asInstalledHere)
    const install = () => project.install([...tarballs, forFramework('@holdfast/otel'), ...tools])
    const what = `OpenTelemetry, ${type === 'module' ? 'ESM' : 'CommonJS'}`
    if (!(await report.check(`${what}: npm install`, install))) return
    if (!(await report.check(`${what}: compiles, strict`, () => project.tsc()))) return
    await report.check(`${what}: a metric`, async () =>
      assert.equal(await project.node(`out/${as.replace(/ts$/, 'js')}`), 'order:* was locked once'),
    )
  }
  await check('otel', { type: 'module', as: 'telemetry.mts' })
  await check('otel-cjs', { type: 'commonjs', as: 'telemetry.cts' })
}

const quickstartOfReadme = (redisUrl) => {
  const [, code] = /^## First lock\s+^```js\n(.*?)^```/ms.exec(readFileSync(README, 'utf8')) ?? []
  assert.ok(code, 'README.md has a block of JavaScript right below its heading First lock')
  return code.replace('redis://localhost:6379', redisUrl)
}

const prints = async (project, file) => assert.equal(await project.node(file), EXPECTED)

const tsconfig = (compilerOptions) =>
  JSON.stringify({
    compilerOptions: {
      module: 'nodenext',
      strict: true,
      skipLibCheck: false,
      outDir: 'out',
      rootDir: '.',
      ...compilerOptions,
    },
  })
