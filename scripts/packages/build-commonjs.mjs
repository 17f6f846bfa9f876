import { readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { filesBelow } from './files-below.mjs'
import { thirdPartyLicenses } from './third-party-licenses.mjs'
import { writeIfChanged } from './write-if-changed.mjs'

// What no `require` of an older Node, and none of Jest, can load. Each goes into the bundle of the package that
// declares it; what it imports in turn goes with it. Everything else stays a dependency.
const ESM_ONLY = ['nanoid', 'p-retry']

/**
 * Makes dist/cjs of dist/esm: one bundle for each entry, the declarations as they are, and a package.json that
 * tells Node and TypeScript that both are CommonJS.
 *
 * @param {import('./published-packages.mjs').PublishedPackage} published
 */
export const buildCommonJs = async ({ folder, manifest }) => {
  const { outputFiles, metafile } = await bundle(folder, manifest)
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

const bundle = (folder, manifest) => {
  const { dependencies = {}, peerDependencies = {} } = manifest
  const external = Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => !ESM_ONLY.includes(name),
  )
  return build({
    absWorkingDir: folder,
    entryPoints: requiredEntries(manifest).map((file) => file.replace('/dist/cjs/', '/dist/esm/')),
    outdir: 'dist/cjs',
    outbase: 'dist/esm',
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    external,
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

/** The files that `exports` names for `require`, without those that are not JavaScript. */
const requiredEntries = (manifest) =>
  Object.values(manifest.exports)
    .map((conditions) => conditions.require?.default)
    .filter((file) => file !== undefined)
