// Whether a bug can be planted, before anybody waits for it to be found: one that does not compile fails each run, and
// would count as caught.
import { transformSync } from 'esbuild'
import { parse } from '../../testing/build/engine/lua/parser.js'
import { isLua, plantedLua, plantedModules } from './planting.mjs'

/** @throws Error what the bug changes is not there, or is there more than once, or is no program with it */
export const requirePlantable = (bug) => {
  for (const { file, text } of plantedModules(bug)) {
    parsed(bug, () => transformSync(text, { loader: file.endsWith('.ts') ? 'ts' : 'js', logLevel: 'silent' }))
  }
  if (isLua(bug)) parsed(bug, () => parse(plantedLua(bug)))
}

const parsed = ({ file, replace }, parse) => {
  try {
    parse()
  } catch (cause) {
    throw new Error(`${file} with "${replace}" does not compile: mend the planted bug. ${cause.message}`, {
      cause,
    })
  }
}
