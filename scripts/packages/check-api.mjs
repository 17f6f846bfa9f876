// Compares the public API of every entry of the published packages with the report of it in etc/, which is committed
// so that a change of the API is seen in review. `--write` updates the reports.
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { entriesOf, publishedPackages } from './published-packages.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COMMITTED = join(ROOT, 'etc')
const STAGED = join(ROOT, 'build/api')
const ADVICE = 'If the change is meant, run `npm run check:api -- --write` and commit etc/.'
/** Lines of API Extractor that name the file, about itself, about where a type comes from, and about docstrings, which lint checks by its own rules. */
const REMARK =
  /^(?:## API Report File .*|> Do not edit.*|import .*| *\/\/ (?:@public(?: \(undocumented\))?|\(undocumented\)|\(No @packageDocumentation .*))\n/gm

const isWriting = process.argv.includes('--write')
const built = spawnSync(process.execPath, [join(ROOT, 'scripts/build.mjs')], { stdio: 'inherit' })
if (built.status !== 0) process.exit(built.status ?? 1)

/** The published declarations of an entry: a subpath takes the types of the main entry from there, like a stranger. */
const stage = ({ folder, name: home }, { name, file }) => {
  const report = name.replace(/^@/, '').replaceAll('/', '-')
  const declarations = readFileSync(join(folder, `dist/${file}.d.cts`), 'utf8')
  const path = join(STAGED, `${report}.d.cts`)
  writeFileSync(path, declarations.replaceAll(`from './index.cjs'`, `from '${home}'`))
  // API Extractor reports a class of which users can have only the type like any other.
  const values = [...declarations.matchAll(/^export \{ (.*) \};$/gm)].map(([, names]) => names)
  return { name, folder, report, path, values }
}

rmSync(STAGED, { recursive: true, force: true })
mkdirSync(join(STAGED, 'etc'), { recursive: true })
const entries = publishedPackages().flatMap((each) => entriesOf(each).map((entry) => stage(each, entry)))
const files = entries.map(({ path }) => path)
const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.base.json'), 'utf8'))
// A user's compiler finds the declarations where package.json says, not in the sources.
const compiler = { ...compilerOptions, paths: {}, composite: false, noEmit: true }

const configOf = ({ folder, report, path }) =>
  ExtractorConfig.prepare({
    configObject: {
      projectFolder: ROOT,
      mainEntryPointFilePath: path,
      compiler: { overrideTsconfig: { compilerOptions: compiler, files } },
      apiReport: {
        enabled: true,
        reportFileName: report,
        reportFolder: join(STAGED, 'etc'),
        reportTempFolder: STAGED,
        includeForgottenExports: true,
      },
      newlineKind: 'lf',
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: { default: { logLevel: 'none' } },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
    packageJsonFullPath: join(folder, 'package.json'),
  })

let compilerState
for (const entry of entries) {
  const config = configOf(entry)
  compilerState ??= CompilerState.create(config, { additionalEntryPoints: files })
  const { errorCount } = Extractor.invoke(config, {
    localBuild: true,
    compilerState,
    messageCallback: (message) => {
      message.handled = message.logLevel !== 'error'
    },
  })
  if (errorCount > 0) throw new Error(`${basename(entry.path)}: the declarations have errors`)
  const report = join(STAGED, `etc/${entry.report}.api.md`)
  const values = entry.values.map((names) => `Not types alone: ${names}\n`)
  const text = readFileSync(report, 'utf8').replaceAll(REMARK, '').trimStart()
  writeFileSync(report, text.replaceAll(/\n{2,}/g, '\n') + values.join(''))
}

const differs = spawnSync('git', ['diff', '--no-index', '--', COMMITTED, join(STAGED, 'etc')], {
  stdio: isWriting ? 'ignore' : 'inherit',
})
if (differs.status === 0) console.log(`${entries.length} API reports up to date`)
else if (isWriting) {
  rmSync(COMMITTED, { recursive: true, force: true })
  mkdirSync(COMMITTED)
  for (const file of readdirSync(join(STAGED, 'etc'))) {
    writeFileSync(join(COMMITTED, file), readFileSync(join(STAGED, 'etc', file)))
  }
  console.log(`${entries.length} API reports written`)
} else {
  console.error(ADVICE)
  process.exitCode = 1
}
