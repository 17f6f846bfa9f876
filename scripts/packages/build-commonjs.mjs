import { readFileSync, rmSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { build } from 'esbuild'
import { filesBelow } from './files-below.mjs'
import { thirdPartyLicenses } from './third-party-licenses.mjs'
import { writeIfChanged } from './write-if-changed.mjs'

// What no `require` of an older Node, and none of Jest, can load. Each goes into the file that imports it; what it
// imports in turn goes with it. Everything else stays a dependency.
const ESM_ONLY = ['nanoid', 'p-retry']

/**
 * Makes dist/cjs of dist/esm: file by file, so that all entries of a package share its classes and its state; the
 * declarations as they are; and a package.json that tells Node and TypeScript that both are CommonJS.
 *
 * @param {import('./published-packages.mjs').PublishedPackage} published
 */
export const buildCommonJs = async ({ folder, manifest }) => {
  const modules = filesBelow(join(folder, 'dist/esm')).filter((each) => each.endsWith('.js'))
  const { outputFiles, metafile } = await translate(folder, manifest, modules)
  const target = join(folder, 'dist/cjs')
  const files = new Map([['package.json', '{ "type": "commonjs" }\n']])
  for (const { path, contents } of outputFiles) files.set(relative(target, path), contents)
  for (const file of filesBelow(join(folder, 'dist/esm')).filter((each) => each.endsWith('.d.ts'))) {
    files.set(file, readFileSync(join(folder, 'dist/esm', file)))
  }
  const licenses = thirdPartyLicenses(folder, Object.keys(metafile.inputs))
  if (licenses) files.set('THIRD-PARTY-LICENSES.txt', licenses)

  for (const [file, contents] of files) writeIfChanged(join(target, file), contents)
  for (const file of filesBelow(target)) {
    if (!files.has(file)) rmSync(join(target, file))
  }
}

const translate = (folder, manifest, modules) => {
  const { dependencies = {}, peerDependencies = {} } = manifest
  const external = Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => !ESM_ONLY.includes(name),
  )
  return build({
    absWorkingDir: folder,
    entryPoints: modules.map((file) => `dist/esm/${file}`),
    outdir: 'dist/cjs',
    outbase: 'dist/esm',
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    external,
    plugins: [ownFilesApart(join(folder, 'dist/esm'))],
    // Errors carry the names of their classes.
    keepNames: true,
    // Jest in CommonJS mode has no import(); the one of an optional Redis client becomes a late require().
    supported: { 'dynamic-import': false },
    sourcemap: true,
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
}

/** What one file of the package imports of another stays an import: a class must exist once, whoever asks for it. */
const ownFilesApart = (folder) => ({
  name: 'own-files-apart',
  setup: (builder) =>
    builder.onResolve({ filter: /^\.{1,2}\// }, ({ path, importer }) =>
      importer.startsWith(folder + sep) ? { path, external: true } : undefined,
    ),
})
