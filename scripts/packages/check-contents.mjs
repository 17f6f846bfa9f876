import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import ts from 'typescript'

const ALWAYS = ['LICENSE', 'README.md', 'package.json', 'dist/cjs/package.json']
const BUILT = /^dist\/((esm|cjs)\/.+\.(js|js\.map|d\.ts)|cjs\/THIRD-PARTY-LICENSES\.txt)$/

/** @param {import('./tarballs.mjs').Tarball} tarball */
export const checkFileList = ({ contents }) => {
  for (const file of ALWAYS) assert.ok(contents.includes(file), `${file} is missing`)
  const foreign = contents.filter((file) => !ALWAYS.includes(file) && !BUILT.test(file))
  assert.deepEqual(foreign, [], 'files that do not belong there')
  const tests = contents.filter((file) => /(^|\/)(tests?|fixtures)\/|\.(test|spec)\./.test(file))
  assert.deepEqual(tests, [], 'tests')
  for (const format of ['esm', 'cjs']) {
    for (const file of ['index.js', 'index.d.ts']) assert.ok(contents.includes(`dist/${format}/${file}`))
  }
}

/**
 * @param {Record<string, any>} manifest as it was installed
 * @param {Record<string, any>} root the workspace's own
 */
export const checkManifest = (manifest, root) => {
  assert.deepEqual(manifest.engines, root.engines, 'engines as in the root')
  assert.equal(manifest.sideEffects, false, 'sideEffects')
  assert.equal(manifest.license, 'MIT')
  assert.equal(manifest.publishConfig?.access, 'public', 'publishConfig.access')
  assert.ok(manifest.description?.length > 20, 'description')
  assert.ok(manifest.keywords?.length >= 3, 'keywords')
  const scripts = Object.keys(manifest.scripts ?? {}).filter((each) => /install$/.test(each))
  assert.deepEqual(scripts, [], 'install scripts')
}

/**
 * Whoever installs the package has what it imports, and nothing it does not. The CommonJS half may need less,
 * never more.
 *
 * @param {string} folder of the installed package
 * @param {Record<string, any>} manifest
 * @param {string[]} contents
 */
export const checkImports = (folder, manifest, contents) => {
  const needed = Object.keys(manifest.dependencies ?? {})
  const declared = new Set([...needed, ...Object.keys(manifest.peerDependencies ?? {})])
  const imported = (pattern) =>
    importedBy(
      folder,
      contents.filter((file) => pattern.test(file)),
    )
  const esm = imported(/^dist\/esm\/.*\.js$/)
  const types = imported(/\.d\.ts$/)
  const cjs = imported(/^dist\/cjs\/.*\.js$/)
  for (const name of [...esm, ...types, ...cjs]) assert.ok(declared.has(name), `${name} is not declared`)
  for (const name of needed) assert.ok(esm.has(name), `${name} is declared, but nothing imports it`)
  for (const name of cjs) assert.ok(esm.has(name), `only the CommonJS half imports ${name}`)
  // What users bring they have in the format that they can load.
  for (const name of needed.filter((each) => cjs.has(each)))
    assert.ok(isRequirable(folder, name), `${name} is ESM only; CommonJS needs it bundled`)
}

const importedBy = (folder, files) => {
  const names = new Set()
  for (const file of files) {
    const { importedFiles, typeReferenceDirectives } = ts.preProcessFile(
      readFileSync(join(folder, file), 'utf8'),
      true,
      true,
    )
    for (const { fileName } of [...importedFiles, ...typeReferenceDirectives]) {
      if (/^\.|^node:/.test(fileName) || builtinModules.includes(fileName)) continue
      names.add(/^(@[^/]+\/)?[^/]+/.exec(fileName)[0])
    }
  }
  return names
}

const isRequirable = (folder, name) => {
  let at = folder
  for (;;) {
    try {
      const manifest = JSON.parse(readFileSync(join(at, 'node_modules', name, 'package.json'), 'utf8'))
      return manifest.type !== 'module' || JSON.stringify(manifest.exports ?? {}).includes('"require"')
    } catch (error) {
      if (error.code !== 'ENOENT' || join(at, '..') === at) throw error
      at = join(at, '..')
    }
  }
}

/**
 * @param {string} project where the packages are installed
 */
export const checkInstallScripts = (project) => {
  const lock = JSON.parse(readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8'))
  const scripted = Object.entries(lock.packages).filter(([, each]) => each.hasInstallScript)
  assert.deepEqual(
    scripted.map(([place]) => place),
    [],
    'packages with install scripts',
  )
}
