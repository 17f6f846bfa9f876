import { observeSources } from '../../../src/observe/lua-sources.js'
import { electionSources } from '../../../src/election/lua-sources.js'
import { luaSources } from '../../../src/redis/lua-sources.js'
import { scheduleSources } from '../../../src/schedule/lua-sources.js'
import { shareSources } from '../../../src/share/lua-sources.js'
import { travelSources } from '../../../src/travel/lua-sources.js'

/** Every script by its name: those of core, and those that one entry alone sends. */
export const allLuaSources = {
  ...luaSources,
  ...observeSources,
  ...scheduleSources,
  ...shareSources,
  ...travelSources,
  ...electionSources,
}
