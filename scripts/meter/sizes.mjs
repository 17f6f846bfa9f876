import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { filesBelow } from '../packages/files-below.mjs'
import { entriesOf, publishedPackages } from '../packages/published-packages.mjs'

const PACKAGES = fileURLToPath(new URL('../../packages/', import.meta.url))

/** Sizes to read and to know: lines with code, exported names of core and its entries, and options. */
export const sizes = () => ({
  'lines of code, core': linesOfCode('core'),
  'lines of code, waiter': linesOfCode('waiter'),
  'lines of code, watchdog': linesOfCode('watchdog'),
  'lines of Lua': files('core', '.lua').reduce((sum, file) => sum + linesOfLua(read(file)), 0),
  'exported names': exportedNames(({ module }) => module === 'index'),
  'exported names of the other entries': exportedNames(({ module }) => module !== 'index'),
  'options of a client': members('core/src/options.ts', 'LockClientOptions'),
  'options of a call': members('core/src/acquire/acquire-options.ts', 'AcquireOptions'),
})

const read = (file) => readFileSync(join(PACKAGES, file), 'utf8')
const parse = (file) => ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true)

const files = (name, ending) =>
  filesBelow(join(PACKAGES, name, 'src'))
    .filter((file) => file.endsWith(ending) && !file.endsWith('lua-sources.ts'))
    .map((file) => `${name}/src/${file}`)

/** Lines on which a token stands: neither comments nor blank ones. */
const linesOfCode = (name) =>
  files(name, '.ts').reduce((sum, file) => {
    const source = parse(file)
    const lines = new Set()
    const visit = (node) => {
      if (ts.isJSDoc(node)) return
      const children = node.getChildren(source)
      if (children.length > 0) return children.forEach(visit)
      if (node.getWidth(source) === 0) return
      const [first, last] = [node.getStart(source), node.getEnd()].map(
        (at) => source.getLineAndCharacterOfPosition(at).line,
      )
      for (let line = first; line <= last; line += 1) lines.add(line)
    }
    visit(source)
    return sum + lines.size
  }, 0)

const linesOfLua = (text) => text.split('\n').filter((line) => /^\s*(?!--)\S/.test(line)).length

const exportedNames = (isWanted) => {
  const core = publishedPackages().find(({ folder }) => folder.endsWith('core'))
  const names = entriesOf(core)
    .filter(isWanted)
    .flatMap(({ module }) => parse(`core/src/${module}.ts`).statements)
    .filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) => exportClause.elements)
  return names.length
}

const members = (file, name) =>
  parse(file).statements.find((each) => ts.isInterfaceDeclaration(each) && each.name.text === name).members
    .length
