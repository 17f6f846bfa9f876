import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { build } from 'esbuild'
import ts from 'typescript'
import { filesBelow } from './files-below.mjs'
import { entriesOf } from './published-packages.mjs'
import { rollUpTypes } from './roll-up-types.mjs'
import { thirdPartyLicenses } from './third-party-licenses.mjs'
import { writeIfChanged } from './write-if-changed.mjs'

const FORMATS = { esm: 'js', cjs: 'cjs' }
const NOTICES = 'THIRD-PARTY-LICENSES.txt'
const LINE_LIMIT = 500

/**
 * Makes dist of build: one file for each entry and format, one of declarations for each, and the licences of what is
 * inside. A package of several entries has its common code in `internal`, once for each format: a class must be the
 * same whichever entry it comes from.
 *
 * @param {import('./published-packages.mjs').PublishedPackage} published
 */
export const bundle = async (published) => {
  const { folder } = published
  const entries = entriesOf(published)
  const [files, inputs] = [new Map(), new Set()]
  for (const format of Object.keys(FORMATS)) {
    const built = await Promise.all(
      scriptsOf(folder, entries).map((each) => bundleScript(published, format, each)),
    )
    for (const { file, text, metafile } of built) {
      files.set(file, text)
      for (const input of Object.keys(metafile.inputs)) inputs.add(input)
    }
  }
  for (const [file, text] of await rollUpTypes(published, entries)) {
    files.set(`${file}.d.cts`, text.replaceAll(/(from ')(\.\/\w+)\.js'/g, "$1$2.cjs'"))
    // The same types, declared once: one class with private members is assignable to the other only if they are one.
    const all = [`export * from './${file}.cjs'\n`]
    // A star leaves the default export out; and to an ES module, the default of a CommonJS file is all of its exports.
    const named = /^export \{[^}]*\b(\w+) as default\b/m.exec(text)
    if (named) all.push(`export { ${named[1]} as default } from './${file}.cjs'\n`)
    files.set(`${file}.d.ts`, all.join(''))
  }
  const licenses = thirdPartyLicenses(folder, [...inputs])
  if (licenses) files.set(NOTICES, licenses)

  const target = join(folder, 'dist')
  for (const [file, contents] of files) writeIfChanged(join(target, file), contents)
  for (const file of readdirSync(target)) {
    if (!files.has(file)) rmSync(join(target, file), { recursive: true })
  }
}

/**
 * @typedef {object} BundledScript
 * @property {string} file in dist, without its extension
 * @property {object} input what it is made of, as esbuild takes it
 * @property {string} [own] the folder below build whose modules it contains; others come from `internal`
 */

/** @returns {BundledScript[]} */
const scriptsOf = (folder, entries) => {
  const root = join(folder, 'build')
  const scripts = entries.map(({ file, module }) => ({
    file,
    input: { entryPoints: [join(root, `${module}.js`)] },
    own: dirname(join(root, module)),
  }))
  if (entries.length === 1) return scripts.map(({ file, input }) => ({ file, input }))
  const lines = [...sharedNames(root, entries)].map(
    ([module, names]) => `export { ${[...names].sort().join(', ')} } from '${module}'`,
  )
  return [
    { file: 'internal', input: { stdin: { contents: lines.join('\n'), resolveDir: root } } },
    ...scripts,
  ]
}

/**
 * Imports of the entries from the common code, module by module.
 *
 * @returns {Map<string, Set<string>>}
 */
const sharedNames = (root, entries) => {
  const shared = new Map()
  const homes = new Map()
  for (const { module } of entries) {
    const own = dirname(join(root, module))
    const isMain = own === root
    const modules = isMain ? ['index.js'] : filesBelow(own).filter((file) => file.endsWith('.js'))
    for (const file of modules) {
      for (const { from, names } of importsIn(join(own, file))) {
        if (!from.startsWith('.')) continue
        const target = join(dirname(join(own, file)), from)
        if (!isMain && target.startsWith(own + sep)) continue
        for (const name of names) {
          const path = `./${relative(root, originOf(target, name)).split(sep).join('/')}`
          if ((homes.get(name) ?? path) !== path)
            throw new Error(`${name} of ${path} and of ${homes.get(name)}`)
          homes.set(name, path)
          shared.set(path, (shared.get(path) ?? new Set()).add(name))
        }
      }
    }
  }
  return shared
}

/** The module that declares a name which another may only pass on. */
const originOf = (file, name) => {
  const passedOn = importsIn(file).find(({ isPassedOn, names }) => isPassedOn && names.includes(name))
  return passedOn === undefined ? file : originOf(join(dirname(file), passedOn.from), name)
}

/** Imports and exports of a module from others, by name. */
const importsIn = (file) => {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest)
  return source.statements.flatMap((statement) => {
    const { moduleSpecifier } = statement
    if (!moduleSpecifier) return []
    const bindings = ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : statement.exportClause
    if (!bindings?.elements)
      throw new Error(`${file}: only names can be imported from ${moduleSpecifier.text}`)
    const names = bindings.elements.map(({ propertyName, name }) => (propertyName ?? name).text)
    return [{ from: moduleSpecifier.text, names, isPassedOn: ts.isExportDeclaration(statement) }]
  })
}

const bundleScript = async ({ folder, manifest }, format, { file, input, own }) => {
  const { dependencies = {}, peerDependencies = {} } = manifest
  const extension = FORMATS[format]
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    ...input,
    bundle: true,
    format,
    platform: 'node',
    target: 'node20',
    charset: 'utf8',
    // Its paths lead to the sources of other packages.
    tsconfigRaw: {},
    external: Object.keys({ ...dependencies, ...peerDependencies }),
    // Names and statements stay as they are, and lines short enough for a stack trace to lead somewhere.
    minifyWhitespace: true,
    lineLimit: LINE_LIMIT,
    plugins: own === undefined ? [] : [commonCodeApart(own, join(folder, 'build'), extension)],
    // Jest in CommonJS mode has no import(); the one of an optional Redis client becomes a late require().
    supported: format === 'cjs' ? { 'dynamic-import': false } : {},
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  // Where a line begins with it, `attw` finds out what CommonJS exports.
  const printed = outputFiles[0].text.replace(';__export(', ';\n__export(')
  const text = withOptionalRequires(withClassNames(printed))
  return { file: `${file}.${extension}`, text, metafile }
}

/** esbuild may call a class by another name inside, `_Name` or `Name2`, which `inspect`, errors and Nest would show. */
const withClassNames = (text) => {
  const renamed = [...text.matchAll(/\b(?:var|let)\s(\w+)=class\s(_\1|\1\d+)\b/g)]
  return renamed.reduce(
    (all, [, name, inside]) => all.replaceAll(new RegExp(`(?<![\\w$])${inside}(?![\\w$])`, 'g'), name),
    text,
  )
}

/** Bundlers let a `require` fail that stands in a `try`, but not one in a function there, as esbuild writes an import(). */
const withOptionalRequires = (text) =>
  text.replaceAll(
    /await Promise\s*\.\s*resolve\(\)\s*\.\s*then\(\s*\(\)=>\s*(__toESM\(\s*require\(\s*"[^"]+"\)(?:,\s*1)?\))\)/g,
    'await $1',
  )

/** Imports of an entry from outside its folder are in `internal`; the main entry has nothing of its own. */
const commonCodeApart = (own, root, extension) => ({
  name: 'common-code-apart',
  setup: (builder) =>
    builder.onResolve({ filter: /^\.{1,2}\// }, ({ path, importer, resolveDir }) => {
      if (importer === '') return undefined
      const isOwn = own !== root && join(resolveDir, path).startsWith(own + sep)
      return isOwn ? undefined : { path: `./internal.${extension}`, external: true }
    }),
})
