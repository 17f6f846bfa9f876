// Module hooks (node:module, `register`) that change one place of one module as it is loaded.
import { PLANTED_BUGS } from './bugs.mjs'
import { builtModuleOf, plant } from './planting.mjs'

let bug

export const initialize = (name) => {
  bug = PLANTED_BUGS[name]
}

export const load = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context)
  if (!url.endsWith(`/packages/${builtModuleOf(bug)}`)) return loaded
  return { ...loaded, source: plant(bug, String(loaded.source)) }
}
