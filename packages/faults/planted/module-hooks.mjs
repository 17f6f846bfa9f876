// Module hooks (node:module, `register`) that change one place of one module as it is loaded. The packages are loaded
// as the compiler leaves them, module by module: a bundle no longer has the text that a bug is looked for in.
import { PLANTED_BUGS } from './bugs.mjs'
import { builtModuleOf, plant } from './planting.mjs'

const ENTRY = /(\/packages\/[^/]+)\/dist\/([^/]+)\.js$/
/** The entries of core are folders of one room; those of other packages are folders beside their main one. */
const unbundled = (_, folder, entry) => {
  if (entry === 'index') return `${folder}/build/index.js`
  return `${folder}/build/${folder.endsWith('/core') ? 'entries/' : ''}${entry}/index.js`
}

let bug

export const initialize = (name) => {
  bug = PLANTED_BUGS[name]
}

export const resolve = async (specifier, context, nextResolve) => {
  const resolved = await nextResolve(specifier, context)
  return { ...resolved, url: resolved.url.replace(ENTRY, unbundled) }
}

export const load = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context)
  if (!url.endsWith(`/packages/${builtModuleOf(bug)}`)) return loaded
  return { ...loaded, source: plant(bug, String(loaded.source)) }
}
