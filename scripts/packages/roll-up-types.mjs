import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import ts from 'typescript'

/**
 * The declarations of each entry in one file. Those of a subpath take the main entry's types from there: a class with
 * private members is one type only where it is declared once.
 *
 * @param {import('./published-packages.mjs').PublishedPackage} published
 * @param {import('./published-packages.mjs').Entry[]} entries
 * @returns {Promise<Map<string, string>>} by the file of the entry
 */
export const rollUpTypes = async ({ folder }, entries) => {
  const texts = new Map()
  const main = join(folder, 'build/index.d.ts')
  for (const { file, module } of entries) {
    const entry = join(folder, 'build', `${module}.d.ts`)
    texts.set(file, await rollUp(entry, entry === main ? [] : [mainEntryApart(main)]))
  }
  return texts
}

const rollUp = async (entry, plugins) => {
  const bundle = await rollup({
    input: entry,
    external: (id) => !/^[./]/.test(id),
    plugins: [...plugins, dts()],
    onwarn: (warning) => {
      throw new Error(`${entry}: ${warning.message}`)
    },
  })
  const { output } = await bundle.generate({ format: 'es' })
  await bundle.close()
  const source = readFileSync(entry, 'utf8')
  const code = withTypeOnlyExports(output[0].code, typeOnlyNames(source))
  return referencesIn(source) + withPublicComments(code)
}

/** The modules whose names the main entry exports stay there; what else a subpath needs goes into its own file. */
const mainEntryApart = (main) => {
  const exported = exportsIn(readFileSync(main, 'utf8')).map(({ from }) => join(dirname(main), from))
  exported.push(main.replace(/\.d\.ts$/, '.js'))
  return {
    name: 'main-entry-apart',
    resolveId: (id, importer) =>
      importer !== undefined && exported.includes(join(dirname(importer), id))
        ? { id: './index.js', external: true }
        : null,
  }
}

/** A roll-up leaves out which libraries of the compiler an entry asks for. */
const referencesIn = (source) =>
  source
    .split('\n')
    .filter((line) => line.startsWith('/// <reference'))
    .map((line) => `${line}\n`)
    .join('')

/** Classes of which users can have the type, but not the class. */
const typeOnlyNames = (source) =>
  new Set(exportsIn(source).flatMap(({ names, isType }) => (isType ? names : [])))

/** A roll-up exports such classes as values, which the JavaScript beside it does not. */
const withTypeOnlyExports = (code, typeOnly) => {
  let text = code
  for (const { names, texts, from, isType, start, end } of exportsIn(code).reverse()) {
    if (isType || from) continue
    const list = (keep) => texts.filter((_, i) => typeOnly.has(names[i]) !== keep).join(', ')
    const lines = [
      list(true) && `export { ${list(true)} };`,
      list(false) && `export type { ${list(false)} };`,
    ]
    text = text.slice(0, start) + lines.filter(Boolean).join('\n') + text.slice(end)
  }
  return text
}

/** A declaration that an entry does not export is there for the compiler alone. */
const withPublicComments = (code) => {
  const exported = new Set(exportsIn(code).flatMap(({ names }) => names))
  const file = ts.createSourceFile('entry.d.ts', code, ts.ScriptTarget.Latest)
  const nameOf = ({ name, declarationList }) => (name ?? declarationList?.declarations[0].name)?.text
  return file.statements
    .map((each) => {
      const text = each.getFullText(file)
      const name = nameOf(each)
      return name === undefined || exported.has(name) ? text : text.replaceAll(COMMENT, '')
    })
    .join('')
    .concat('\n')
}
const COMMENT = /\n? *\/\*\*.*?\*\//gs

const exportsIn = (text) => {
  const file = ts.createSourceFile('entry.d.ts', text, ts.ScriptTarget.Latest)
  return file.statements
    .filter((each) => ts.isExportDeclaration(each) && each.exportClause)
    .map((each) => ({
      names: each.exportClause.elements.map(({ name }) => name.text),
      // With what it is called inside: `Redlock as default`.
      texts: each.exportClause.elements.map((element) => element.getText(file)),
      from: each.moduleSpecifier?.text,
      isType: each.isTypeOnly,
      start: each.getStart(file),
      end: each.end,
    }))
}
