import { join } from 'node:path'
import ts from 'typescript'
import { read, root, type CodeBlock } from './markdown.js'

/** The titles of `it(…)` and `it.each(…)(…)` in a test file. */
export function titlesIn(file: string): Set<string> {
  const titles = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^it(AtOnce|Alone)?\b/.test(node.expression.getText())) {
      const [title] = node.arguments
      if (title && ts.isStringLiteralLike(title)) {
        titles.add(title.text)
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true))
  return titles
}

/** The compiler's output: Node 20 has no `await using`. */
export function lowered(code: string): string {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }
  return ts.transpileModule(code, { compilerOptions }).outputText
}

export function syntaxErrorsIn({ language, code }: CodeBlock): string[] {
  const fileName = `block.${language.startsWith('t') ? 'ts' : 'js'}`
  const { diagnostics = [] } = ts.transpileModule(code, { fileName, reportDiagnostics: true })
  return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

const programOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  types: ['node'],
  skipLibCheck: true,
  noEmit: true,
  strict: true,
  // The examples are JavaScript: nobody says what a parameter is.
  noImplicitAny: false,
  useUnknownInCatchVariables: false,
  paths: {
    '@holdfast/core/*': [join(root, 'packages/core/src/entries/*/index.ts')],
    '@holdfast/*': [join(root, 'packages/*/src/index.ts')],
  },
}

/** Errors against the types of the packages, as they are in the source. */
export function typeErrorsIn(blocks: readonly CodeBlock[]): string[] {
  const sources = new Map(blocks.map((block, i) => [join(root, `program-${i}.ts`), block]))
  const host = ts.createCompilerHost(programOptions)
  const disk = { ...host }
  host.fileExists = (file) => sources.has(file) || disk.fileExists(file)
  host.getSourceFile = (file, ...rest) => {
    const block = sources.get(file)
    return block ? ts.createSourceFile(file, block.code, rest[0]) : disk.getSourceFile(file, ...rest)
  }
  const program = ts.createProgram([...sources.keys()], programOptions, host)
  return [...sources].flatMap(([file, { file: page, title }]) =>
    program
      .getSemanticDiagnostics(program.getSourceFile(file))
      .map(({ messageText }) => `${page}, ${title}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`),
  )
}
