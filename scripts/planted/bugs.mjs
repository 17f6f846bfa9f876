import { BUGS_IN_COMMAND_LINE } from './bugs/in-command-line.mjs'
import { BUGS_IN_ELECTIONS } from './bugs/in-elections.mjs'
import { BUGS_IN_HOLDING } from './bugs/in-holding.mjs'
import { BUGS_IN_INTEGRATIONS } from './bugs/in-integrations.mjs'
import { BUGS_IN_KINDS } from './bugs/in-kinds.mjs'
import { BUGS_IN_FOREIGN_LOCKS } from './bugs/in-foreign-locks.mjs'
import { BUGS_IN_GRANTS } from './bugs/in-grants.mjs'
import { BUGS_IN_GRANTS_OF_PLAIN_LOCKS } from './bugs/in-grants-of-plain-locks.mjs'
import { BUGS_IN_PASSING } from './bugs/in-passing.mjs'
import { BUGS_IN_PASSING_ALONG_A_LINE } from './bugs/in-passing-along-a-line.mjs'
import { BUGS_IN_PERMITS } from './bugs/in-permits.mjs'
import { BUGS_IN_SCRIPTS } from './bugs/in-scripts.mjs'
import { BUGS_IN_SHARING } from './bugs/in-sharing.mjs'
import { BUGS_IN_TOPOLOGIES } from './bugs/in-topologies.mjs'
import { BUGS_IN_THE_BOARD } from './bugs/in-the-board.mjs'
import { BUGS_IN_TRAVELLING } from './bugs/in-travelling.mjs'
import { BUGS_IN_WAITING } from './bugs/in-waiting.mjs'
import { BUGS_IN_WHAT_IS_TOLD } from './bugs/in-what-is-told.mjs'

/**
 * Mistakes that lock libraries have been built with. Each is a change of one place of the source, and who has to
 * notice it: the torture of plain locks with these arguments, that of permits with these, a script, or a test file of Jest (`only`:
 * those of its tests).
 *
 * @type {Record<string, { file: string, find: string, replace: string, torture?: string, permits?: string,
 *   script?: string, test?: string, only?: string }>}
 */
export const PLANTED_BUGS = {
  ...BUGS_IN_SCRIPTS,
  ...BUGS_IN_HOLDING,
  ...BUGS_IN_WAITING,
  ...BUGS_IN_KINDS,
  ...BUGS_IN_PASSING,
  ...BUGS_IN_PASSING_ALONG_A_LINE,
  ...BUGS_IN_FOREIGN_LOCKS,
  ...BUGS_IN_GRANTS,
  ...BUGS_IN_GRANTS_OF_PLAIN_LOCKS,
  ...BUGS_IN_PERMITS,
  ...BUGS_IN_TOPOLOGIES,
  ...BUGS_IN_INTEGRATIONS,
  ...BUGS_IN_WHAT_IS_TOLD,
  ...BUGS_IN_TRAVELLING,
  ...BUGS_IN_ELECTIONS,
  ...BUGS_IN_SHARING,
  ...BUGS_IN_THE_BOARD,
  ...BUGS_IN_COMMAND_LINE,
}
