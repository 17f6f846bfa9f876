// A build of core, waiter and watchdog that reports each function it enters and leaves, and each object it makes.
import { readFileSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { factory: f } = ts

/** Facts of the sources, by the number that it gives to each function. */
export class Sources {
  /** The file and, of a method or constructor, the class of each function. @type {{ file: string, owner?: string }[]} */
  functions = []
  /** Lines of each file. @type {Map<string, number>} */
  lines = new Map()
  /** Mutable fields of each class, its own, and the class that it extends. @type {Map<string, { fields: number, base?: string }>} */
  classes = new Map()

  mutableFieldsOf(name) {
    const found = this.classes.get(name)
    return found ? found.fields + this.mutableFieldsOf(found.base) : 0
  }
}

/** The room of a file: its first folder below `src` of core, `core` for its root, and the package for the other two. */
export const roomOf = (file) => {
  const [, name, , ...path] = file.split('/')
  if (name !== 'core') return name
  return path.length === 1 ? 'core' : path[0]
}

/** @returns {Promise<Sources>} of what it wrote to `outfile` */
export const buildInstrumented = async (outfile) => {
  const sources = new Sources()
  const plugin = {
    name: 'instrument',
    setup: (builder) =>
      builder.onLoad(
        { filter: /[\\/]packages[\\/](core|waiter|watchdog)[\\/]src[\\/].*\.ts$/ },
        ({ path }) => {
          const file = relative(ROOT, path).split(sep).join('/')
          return { contents: instrument(file, readFileSync(path, 'utf8'), sources), loader: 'js' }
        },
      ),
  }
  const source = (name) => `${ROOT}packages/${name}/src/index.ts`
  await build({
    entryPoints: [source('core')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    tsconfigRaw: {},
    alias: { '@holdfast/waiter': source('waiter'), '@holdfast/watchdog': source('watchdog') },
    packages: 'external',
    plugins: [plugin],
    logLevel: 'warning',
  })
  return sources
}

const instrument = (file, text, sources) => {
  noteClasses(ts.createSourceFile(file, text, ts.ScriptTarget.Latest), sources)
  sources.lines.set(file, text.split('\n').length - 1)
  const options = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    removeComments: true,
  }
  const { outputText } = ts.transpileModule(text, { compilerOptions: options })
  const script = ts.createSourceFile(`${file}.js`, outputText, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS)
  const { transformed } = ts.transform(script, [marksIn(file, sources)])
  return ts.createPrinter({ removeComments: true }).printFile(transformed[0])
}

const noteClasses = (node, sources) => {
  if (ts.isClassLike(node) && node.name) {
    const has = (each, kind) => each.modifiers?.some((modifier) => modifier.kind === kind) ?? false
    const isMutable = (each) => !has(each, ts.SyntaxKind.ReadonlyKeyword)
    const fields = node.members.filter(
      (each) => ts.isPropertyDeclaration(each) && isMutable(each) && !has(each, ts.SyntaxKind.StaticKeyword),
    )
    const parameters = node.members.find(ts.isConstructorDeclaration)?.parameters ?? []
    const properties = parameters.filter((each) => each.modifiers?.length > 0 && isMutable(each))
    const base = node.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)
    sources.classes.set(node.name.text, {
      fields: fields.length + properties.length,
      base: base?.types[0].expression.text,
    })
  }
  ts.forEachChild(node, (child) => noteClasses(child, sources))
}

const mark = (name, ...values) =>
  f.createCallExpression(
    f.createPropertyAccessExpression(f.createIdentifier('__meter'), name),
    undefined,
    values,
  )
const BEFORE = f.createIdentifier('__before')
const isFunction = (node) => ts.isFunctionLike(node) && node.body !== undefined

const marksIn = (file, sources) => (context) => (script) => {
  const visit = (node, id, owner) => {
    if (ts.isClassLike(node)) owner = node.name?.text
    if (isFunction(node)) return markFunction(node, owner)
    const visited = ts.visitEachChild(node, (child) => visit(child, id, owner), context)
    // Control leaves with the `await`, and comes back from the event loop.
    if (ts.isAwaitExpression(node) && id !== undefined) {
      const awaited = f.createAwaitExpression(mark('suspended', BEFORE, visited.expression))
      const forgotten = f.createAssignment(BEFORE, f.createVoidZero())
      return mark('resumed', id, awaited, forgotten)
    }
    const isObject =
      ts.isNewExpression(node) || ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node)
    return isObject && !isPattern(node) ? mark('made', visited) : visited
  }
  const markFunction = (node, owner) => {
    const id = f.createNumericLiteral(sources.functions.length)
    sources.functions.push({ file, owner: ts.isFunctionDeclaration(node) ? undefined : owner })
    const inner = ts.visitEachChild(node, (child) => visit(child, id, owner), context)
    const block = ts.isBlock(inner.body) ? inner.body : f.createBlock([f.createReturnStatement(inner.body)])
    const before = f.createVariableDeclaration(BEFORE, undefined, undefined, mark('entered', id))
    const marked = f.createBlock([
      f.createVariableStatement(undefined, f.createVariableDeclarationList([before], ts.NodeFlags.Let)),
      f.createTryStatement(
        block,
        undefined,
        f.createBlock([f.createExpressionStatement(mark('left', BEFORE))]),
      ),
    ])
    return withBody(inner, marked)
  }
  return ts.visitEachChild(script, (child) => visit(child), context)
}

const withBody = (node, body) => {
  const { modifiers, name, parameters, asteriskToken } = node
  if (ts.isConstructorDeclaration(node))
    return f.updateConstructorDeclaration(node, modifiers, parameters, body)
  if (ts.isGetAccessor(node))
    return f.updateGetAccessorDeclaration(node, modifiers, name, parameters, undefined, body)
  if (ts.isSetAccessor(node)) return f.updateSetAccessorDeclaration(node, modifiers, name, parameters, body)
  const rest = [undefined, parameters, undefined, body]
  if (ts.isMethodDeclaration(node))
    return f.updateMethodDeclaration(node, modifiers, asteriskToken, name, undefined, ...rest)
  if (ts.isFunctionDeclaration(node))
    return f.updateFunctionDeclaration(node, modifiers, asteriskToken, name, ...rest)
  const arrow = node.equalsGreaterThanToken
  return mark(
    'made',
    ts.isArrowFunction(node)
      ? f.updateArrowFunction(node, modifiers, undefined, parameters, undefined, arrow, body)
      : f.updateFunctionExpression(node, modifiers, asteriskToken, name, ...rest),
  )
}

/** Whether a literal is what a value is taken apart into, as in `[a, b] = pair`. */
const isPattern = (node) => {
  const { parent } = node
  if (ts.isBinaryExpression(parent))
    return parent.left === node && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
  if (ts.isForOfStatement(parent)) return parent.initializer === node
  const isInside =
    ts.isParenthesizedExpression(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isObjectLiteralExpression(parent) ||
    ts.isSpreadElement(parent)
  return isInside && isPattern(parent)
}
