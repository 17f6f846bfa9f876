import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import ts from 'typescript'

const ALWAYS = ['LICENSE', 'README.md', 'package.json']
const NOTICES = 'dist/THIRD-PARTY-LICENSES.txt'

/**
 * The four files of each entry, the common code of several, programs, skills, the licences of what is inside, and nothing else.
 *
 * @param {import('./tarballs.mjs').Tarball} tarball
 * @param {import('./published-packages.mjs').Entry[]} entries
 */
export const checkFileList = ({ contents }, entries) => {
  const built = entries.flatMap(({ file }) =>
    ['js', 'cjs', 'd.ts', 'd.cts'].map((each) => `dist/${file}.${each}`),
  )
  const common = entries.length > 1 ? ['dist/internal.js', 'dist/internal.cjs'] : []
  const programs = contents.filter((file) => /^bin\/[\w-]+\.mjs$/.test(file))
  const notices = contents.includes(NOTICES) ? [NOTICES] : []
  const skills = contents.filter((file) => /^skills\/[a-z-]+\/SKILL\.md$/.test(file))
  assert.deepEqual(
    contents.toSorted(),
    [...ALWAYS, ...built, ...common, ...programs, ...notices, ...skills].sort(),
    'the files',
  )
}

/**
 * @param {import('./tarballs.mjs').Tarball} tarball
 * @param {{ packed: number, unpacked: number, files: number }} most bytes, and how many files
 */
export const checkSize = ({ size, unpackedSize, contents }, most) => {
  const is = { packed: size, unpacked: unpackedSize, files: contents.length }
  for (const [what, value] of Object.entries(is)) {
    assert.ok(value <= most[what], `${what}: ${value}, more than ${most[what]}`)
  }
}

/**
 * A protected member is declared with its type, and that type with all that it mentions: most of the internals once.
 * Users extend no class of ours; `@internal` leaves the member out.
 *
 * @param {string} folder of the installed package
 * @param {string[]} contents
 */
export const checkProtected = (folder, contents) => {
  for (const file of contents.filter((each) => /\.d\.c?ts$/.test(each))) {
    const text = readFileSync(join(folder, file), 'utf8')
    const found = /^\s*protected .*$/m.exec(text)
    assert.equal(found, null, `${file}: ${found?.[0].trim()}`)
  }
}

/**
 * A class has the name that it is exported by: `inspect` shows it, and Nest names a module after it.
 *
 * @param {string} folder of the installed package
 * @param {string[]} contents
 */
export const checkClassNames = (folder, contents) => {
  for (const file of contents.filter((each) => /\.c?js$/.test(each))) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const [, name, inside] of text.matchAll(/\b(?:var|let)\s(\w+)=class\s([\w$]+)/g)) {
      assert.ok(inside === name || inside === 'extends', `${file}: ${name} calls itself ${inside}`)
    }
  }
}

/**
 * Which files of the package an entry loads, in either format. Throws where files require each other in a circle: in
 * CommonJS one of them would see the other half done.
 *
 * @param {string} folder of the installed package
 * @param {string} file below it
 * @returns {Set<string>}
 */
export const loadedBy = (folder, file, above = []) => {
  assert.ok(!above.includes(file), `a circle: ${[...above, file].join(' > ')}`)
  const { importedFiles } = ts.preProcessFile(readFileSync(join(folder, file), 'utf8'), true, true)
  const own = importedFiles.map(({ fileName }) => fileName).filter((name) => name.startsWith('.'))
  const below = own.flatMap((name) => [...loadedBy(folder, join(dirname(file), name), [...above, file])])
  return new Set([file, ...below])
}

/**
 * An entry is at most two files, in both formats; no file is left that no entry loads.
 *
 * @param {string} folder of the installed package
 * @param {Record<string, any>} manifest
 * @param {string[]} contents
 */
export const checkLoaded = (folder, manifest, contents) => {
  const files = new Set()
  for (const conditions of Object.values(manifest.exports).filter((each) => typeof each === 'object')) {
    for (const kind of ['import', 'require']) {
      const loaded = loadedBy(folder, join(conditions[kind]))
      assert.ok(loaded.size <= 2, `${[...loaded].join(', ')}: more than two files`)
      for (const each of loaded) files.add(each)
    }
  }
  assert.deepEqual(
    [...files].sort(),
    contents.filter((file) => /\.c?js$/.test(file)).sort(),
    'all are loaded',
  )
}

/**
 * @param {Record<string, any>} manifest as it was installed
 * @param {Record<string, any>} root the workspace's own
 * @param {string} address of the repository
 */
export const checkManifest = (manifest, root, address) => {
  assert.deepEqual(manifest.engines, root.engines, 'engines as in the root')
  assert.equal(manifest.sideEffects, false, 'sideEffects')
  assert.equal(manifest.license, 'MIT')
  assert.ok(manifest.description?.length > 20, 'description')
  assert.ok(manifest.keywords?.length >= 3, 'keywords')
  assert.equal(new Set(manifest.keywords).size, manifest.keywords.length, 'each keyword once')
  assert.ok(manifest.keywords.includes('distributed-lock'), 'the keyword that all packages share')
  assert.equal(manifest.repository.url, `git+${address}.git`, 'the repository')
  assert.match(manifest.repository.directory, /^packages\/[\w-]+$/, 'repository.directory')
  const scripts = Object.keys(manifest.scripts ?? {}).filter((each) => /install$/.test(each))
  assert.deepEqual(scripts, [], 'install scripts')
}

/**
 * Whoever installs the package has what it imports, and nothing it does not, in both formats.
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
  const esm = imported(/\.js$/)
  const types = imported(/\.d\.c?ts$/)
  const cjs = imported(/\.cjs$/)
  for (const name of [...esm, ...types, ...cjs]) assert.ok(declared.has(name), `${name} is not declared`)
  for (const name of needed) assert.ok(esm.has(name), `${name} is declared, but nothing imports it`)
  assert.deepEqual([...cjs].sort(), [...esm].sort(), 'both formats import the same')
  // Users have their peers in the format that they can load.
  for (const name of needed.filter((each) => cjs.has(each)))
    assert.ok(isRequirable(folder, name), `${name} is ESM only; CommonJS needs it bundled`)
}

const importedBy = (folder, files) => {
  const names = new Set()
  for (const file of files) {
    for (const path of modulesIn(join(folder, file))) {
      if (/^\.|^node:/.test(path) || builtinModules.includes(path)) continue
      names.add(/^(@[^/]+\/)?[^/]+/.exec(path)[0])
    }
  }
  return names
}

/** Parsed, because TypeScript's quicker `preProcessFile` loses its way at regular expressions with quotes in them. */
const modulesIn = (file) => {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest)
  const paths = source.typeReferenceDirectives.map(({ fileName }) => fileName)
  const look = (node) => {
    const [argument] = node.arguments ?? []
    const isCall =
      ts.isCallExpression(node) && ['import', 'require'].includes(node.expression.getText(source))
    const path = isCall ? argument : (node.moduleSpecifier ?? node.argument?.literal)
    if (path && ts.isStringLiteralLike(path)) paths.push(path.text)
    ts.forEachChild(node, look)
  }
  look(source)
  return paths
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
