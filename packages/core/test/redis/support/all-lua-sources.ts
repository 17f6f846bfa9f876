import { observeSources } from '../../../src/entries/observe/lua-sources.js'
import { electionSources } from '../../../src/entries/election/lua-sources.js'
import { luaSources } from '../../../src/redis/lua-sources.js'
import { scheduleSources } from '../../../src/entries/schedule/lua-sources.js'
import { shareSources } from '../../../src/entries/share/lua-sources.js'
import { travelSources } from '../../../src/entries/travel/lua-sources.js'

/** Every script by its name: those of core, and those that one entry alone sends. */
export const allLuaSources = {
  ...luaSources,
  ...observeSources,
  ...scheduleSources,
  ...shareSources,
  ...travelSources,
  ...electionSources,
}
