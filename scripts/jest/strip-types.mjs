// Transforms TypeScript for Jest by esbuild, which strips the types and checks nothing. On a fresh machine nothing is cached,
// and each Jest project transforms all sources anew: the compiler took a seventh of the processor time of the unit tests.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { transform, transformSync, version } from 'esbuild'

// These options of tsconfig.base.json say what is left of a source.
const COMPILER = { target: 'es2022', verbatimModuleSyntax: true }
const OPTIONS = {
  loader: 'ts',
  format: 'esm',
  target: 'node20',
  charset: 'utf8',
  sourcemap: true,
  tsconfigRaw: { compilerOptions: COMPILER },
}
// In a class with decorators esbuild calls the class `_Name`, and a lock may be named after its class.
const DECORATED = /(^|[{;])\s*@[A-Za-z]\w*(\(|\s*$)/m
// A cached text of another version of this file is not what this one would write.
const SALT = `${version}\0${readFileSync(new URL(import.meta.url), 'utf8')}`

const requireHere = createRequire(import.meta.url)
const byCompiler = (text, path) => {
  // Few files need it, and it takes long to load.
  const ts = requireHere('typescript')
  const { outputText, sourceMapText } = ts.transpileModule(text, {
    fileName: path,
    compilerOptions: {
      ...COMPILER,
      ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, sourceMap: true },
    },
  })
  return { code: outputText, map: sourceMapText }
}
const optionsFor = (path) => ({ ...OPTIONS, sourcefile: path })

export default {
  getCacheKey: (text, path) => createHash('sha256').update(`${SALT}\0${path}\0${text}`).digest('hex'),
  process: (text, path) =>
    DECORATED.test(text) ? byCompiler(text, path) : transformSync(text, optionsFor(path)),
  processAsync: async (text, path) =>
    DECORATED.test(text) ? byCompiler(text, path) : transform(text, optionsFor(path)),
}
