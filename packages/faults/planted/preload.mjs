// Preloaded (`node --import`) into the processes of a torture, and the small programs of a test, with a planted bug.
import { register } from 'node:module'

register('./module-hooks.mjs', import.meta.url, { data: process.env.HOLDFAST_PLANTED_BUG })
