import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import prettier from 'prettier'
import ts from 'typescript'
import { lineDiff } from './line-diff.mjs'
import { eachTypeName, publicText } from './public-text.mjs'
import { entriesOf } from './published-packages.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const STYLE = JSON.parse(readFileSync(join(ROOT, '.prettierrc.json'), 'utf8'))

// As the compiler leaves them, module by module; and as they are published, in one file.
const BUILT = ({ module }) => `build/${module}.d.ts`
const ROLLED_UP = ({ file }) => `dist/${file}.d.cts`

/**
 * The public API of an entry of a built package: what it exports, then what the signatures of that mention without
 * any entry of the package exporting it, each sorted by name. Reads the declarations, as a user's compiler does.
 *
 * @param {import('./published-packages.mjs').PublishedPackage} published
 * @param {import('./published-packages.mjs').Entry} entry
 * @param {import('./published-packages.mjs').PublishedPackage[]} all
 * @returns {Promise<string>}
 */
export const apiReport = async (published, entry, all) => {
  const surface = new Surface(published, { entry, all, place: BUILT })
  const sections = [`# Public API of ${entry.name}`, 'Written by `npm run check:api -- --write`.']
  sections.push(await code([surface.reExports().join('\n'), ...surface.exported()]))
  const mentioned = surface.mentioned()
  if (mentioned.length > 0) {
    sections.push('## Not exported, but part of the signatures above', await code(mentioned))
  }
  return `${sections.join('\n\n')}\n`
}

/**
 * What the roll-up of an entry made of its API, in lines to remove and to add: nothing, unless it is broken.
 *
 * @param {import('./published-packages.mjs').PublishedPackage} published
 * @param {import('./published-packages.mjs').Entry} entry
 * @param {import('./published-packages.mjs').PublishedPackage[]} all
 * @returns {string}
 */
export const lostInRollUp = (published, entry, all) => {
  const [before, after] = [BUILT, ROLLED_UP].map((place) => {
    const surface = new Surface(published, { entry, all, place })
    const texts = [...surface.reExports(), ...surface.exported(), ...surface.mentioned()]
    // Alone in a file, a declaration need not be exported, and may need another name than in a module of its own.
    const plain = texts.map((text) =>
      text.replaceAll(/^export (?!\{|type \{)/gm, '').replaceAll(/\$\d+\b/g, ''),
    )
    return plain.sort().join('\n')
  })
  return lineDiff(before, after)
}

const code = async (declarations) => {
  const text = await prettier.format(declarations.join('\n\n'), { ...STYLE, parser: 'typescript' })
  return `\`\`\`ts\n${text}\`\`\``
}

class Surface {
  #all
  #default
  #checker
  #folder
  #symbols
  #elsewhere
  #typeOnly = new Set()

  constructor(published, { entry, all, place }) {
    const { folder } = published
    const declarationsOf = (each) => join(folder, place(each))
    const entries = entriesOf(published)
    const program = ts.createProgram(entries.map(declarationsOf), compilerOptions())
    this.#checker = program.getTypeChecker()
    this.#all = all
    this.#folder = folder
    const errors = ts.getPreEmitDiagnostics(program).map(({ messageText }) => messageText)
    if (errors.length > 0) throw new Error(ts.flattenDiagnosticMessageText(errors[0], '\n'))
    const exportsOf = (each) => {
      const file = program.getSourceFile(declarationsOf(each))
      return byName(this.#checker.getExportsOfModule(this.#checker.getSymbolAtLocation(file)))
    }
    // The reports of the other entries have them.
    const others = entries.filter(({ name }) => name !== entry.name).flatMap(exportsOf)
    this.#elsewhere = new Set(others.map((symbol) => this.#targetOf(symbol)))
    const exported = exportsOf(entry)
    const main = exported.find(({ name }) => name === 'default')
    this.#default = main && this.#resolve(main).name
    const named = exported.filter((symbol) => symbol !== main)
    if (main && !named.some(({ name }) => name === this.#default))
      throw new Error(`${this.#default} is exported as default only`)
    this.#symbols = named.map((symbol) => {
      const target = this.#resolve(symbol)
      if (symbol.name !== target.name) throw new Error(`${target.name} is exported as ${symbol.name}`)
      return target
    })
  }

  /** What comes from other packages of this workspace: their own reports have the declarations. */
  reExports() {
    const main = this.#default ? [`export { ${this.#default} as default }`] : []
    return this.#symbols
      .filter((symbol) => !this.#isOwn(symbol))
      .map((symbol) => {
        const type = this.#typeOnly.has(symbol) || isTypeByItself(symbol) ? 'type ' : ''
        return `export ${type}{ ${symbol.name} } from '${this.#packageOf(symbol)}'`
      })
      .concat(main)
  }

  exported() {
    return this.#symbols.filter((symbol) => this.#isOwn(symbol)).map((symbol) => this.#text(symbol))
  }

  /** The types a user meets without being able to import them. */
  mentioned() {
    const known = new Set(this.#symbols)
    // The set grows while it is walked: what is found mentions more.
    for (const symbol of known) {
      if (!this.#isOwn(symbol)) continue
      for (const declaration of symbol.declarations) {
        eachTypeName(declaration, (name) => {
          const found = this.#resolve(this.#checker.getSymbolAtLocation(name))
          const isToPrint = this.#isOwn(found) && !this.#elsewhere.has(found)
          if (isToPrint && !(found.flags & ts.SymbolFlags.TypeParameter)) known.add(found)
        })
      }
    }
    const extra = [...known].filter((symbol) => !this.#symbols.includes(symbol))
    return byName(extra).map((symbol) => this.#text(symbol))
  }

  #text(symbol) {
    const text = symbol.declarations.map(publicText).join('\n')
    const isMarked = this.#typeOnly.has(symbol) && !isTypeByItself(symbol)
    return isMarked ? `// exported as a type only\n${text}` : text
  }

  #targetOf(symbol) {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }

  #resolve(symbol) {
    const target = this.#targetOf(symbol)
    if (target !== symbol && symbol.declarations.some(ts.isTypeOnlyExportDeclaration))
      this.#typeOnly.add(target)
    return target
  }

  #isOwn(symbol) {
    return symbol.declarations?.[0].getSourceFile().fileName.startsWith(`${this.#folder}/`) === true
  }

  #packageOf(symbol) {
    const { fileName } = symbol.declarations[0].getSourceFile()
    const home = this.#all.find(({ folder }) => fileName.startsWith(`${folder}/`))
    if (!home) throw new Error(`${symbol.name} comes from ${fileName}, outside the published packages`)
    return home.name
  }
}

const compilerOptions = () => {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.base.json'), ts.sys.readFile)
  // A user's compiler finds the declarations where package.json says, not in the sources.
  delete config.compilerOptions.paths
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  return { ...options, composite: false, noEmit: true }
}

const isTypeByItself = (symbol) => (symbol.flags & ts.SymbolFlags.Value) === 0

const byName = (symbols) => [...symbols].sort((a, b) => (a.name < b.name ? -1 : 1))
