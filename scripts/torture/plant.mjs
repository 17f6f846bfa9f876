// Preloaded (`node --import`) into the processes of a run with a planted bug.
import { register } from 'node:module'
import { PLANTED_BUGS } from './planted-bugs.mjs'

register('./planting-hooks.mjs', import.meta.url, { data: PLANTED_BUGS[process.env.HOLDFAST_PLANTED_BUG] })
